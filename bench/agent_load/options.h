// What agent_load was asked to do, read from its command line and checked: every mistake is told by the name
// of the option.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace remotist::bench {

// How every machine behaves. Probabilities are from 0 to 1.
struct Behaviour {
  std::int64_t job_ms = 0;      // a job runs at least so long …
  std::int64_t job_ms_max = 0;  // … and at most so long, each length as likely; never below job_ms
  std::size_t result_bytes = 1000;
  bool chunks = false;             // the result goes as chunks, however small
  std::int64_t renew_seconds = 0;  // 0: never

  // What a machine should not do, but some will.
  double lose = 0;
  double lie = 0;
  double refuse = 0;
  double handback = 0;
  double fail = 0;
  double vanish = 0;   // a second
  double amnesia = 0;  // of a vanishing
  double freeze = 0;   // a second
  std::int64_t vanish_ms = 5000;
  std::int64_t freeze_ms = 5000;
  std::int64_t delay_accept_ms = 0;
  std::int64_t delay_outcome_ms = 0;

  // Whether a result travels over REST rather than with its outcome.
  bool uploads() const;
};

struct RunOptions {
  std::string machines_file;
  std::string socket_url;
  std::string url;
  std::string ca_file;
  Behaviour behaviour;
  double seconds = 0;                // 0: until a signal
  std::int64_t until_completed = 0;  // 0: any number
  bool rude = false;
  std::string journal_file;
  bool journal_sync = false;
  std::uint64_t seed = 0;  // never 0 once read
};

struct MakeOptions {
  std::string url;
  std::string ca_file;
  std::string user_token_file;
  std::string name;  // what the machines' names begin with
  std::int64_t machines = 1;
  std::int64_t cores = 1;
  std::int64_t ram_mb = 1024;
  std::int64_t disc_mb = 1024;
  double price = 1;
};

// The program only prints a text: help (exit status 0), or wrong options (2).
struct ExitMessage {
  int exit_status;
  std::string text;
};

// Without the program's name. Requires crypto_start(), for a seed when none is given.
std::variant<RunOptions, MakeOptions, ExitMessage> read_options(std::vector<std::string> arguments);

}  // namespace remotist::bench
