// The messages between a volunteer's agent and a market, as docs/protocol.md defines them. One message is one
// JSON object in one WebSocket text frame.
//
// Reading is strict: a message with a field that is unknown, missing, of the wrong type or past its limit is
// refused as a whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/attempt_outcome.h"
#include "core/id.h"
#include "core/result.h"
#include "core/watched_record.h"

namespace remotist {
class JsonBody;
}

namespace remotist::protocol {

inline constexpr std::int64_t kVersion = 1;

// Every attempt is named by its job and its number.
struct AttemptName {
  JobId job;
  int number;
  auto operator<=>(const AttemptName&) const = default;
};

// An attempt with the token that authorises messages about it.
struct AttemptKey {
  AttemptName name;
  std::string token;
};

// --- from the agent

struct Hello {
  std::vector<std::int64_t> protocols;  // that the agent speaks
  std::string software;                 // for people to read
  bool taking_jobs = true;
  std::vector<AttemptKey> attempts;  // that it holds
  // What decides which checkpoints the machine can resume. Empty: unknown.
  std::string r_version{};  // "4.5.0"
  std::string architecture{};
  std::vector<std::string> packages{};  // "name version" each
};

struct Accept {
  std::vector<AttemptKey> attempts;
};

struct Refuse {
  std::vector<AttemptKey> attempts;
  std::string reason;
};

struct Beat {
  struct Running {
    AttemptName name;
    std::int64_t cpu_ms;
  };
  bool taking_jobs = true;
  bool user_present = false;
  double cpu_used = 0;
  double ram_mb_used = 0;
  double disc_mb_used = 0;
  double network_kb_per_s = 0;
  std::vector<Running> attempts;
};

struct Progress {
  AttemptKey attempt;
  double fraction;
  std::string message;
};

// Changes of watched variables, those of one variable in their order.
struct WatchedRecords {
  AttemptKey attempt;
  std::vector<WatchedRecord> records;
};

// A small file that comes with an outcome; a large one is sent over REST before it.
struct OutcomeFile {
  std::string role;  // output, files, log or error
  std::string path;
  std::string bytes;
};

struct Outcome {
  AttemptKey attempt;
  AttemptOutcome kind;  // one that agents may send
  std::int64_t cpu_ms = 0;
  std::optional<FailureCode> failure_code{};  // with failed: one that agents may send; else none
  std::string failure_detail{};
  std::vector<OutcomeFile> files{};
};

struct Goodbye {
  std::string reason;
  std::vector<AttemptKey> attempts;  // that it gives back
};

struct Renew {};
struct Ack {};

using FromAgent =
    std::variant<Hello, Accept, Refuse, Beat, Progress, WatchedRecords, Outcome, Goodbye, Renew, Ack>;

// --- from the market

struct Welcome {
  std::int64_t protocol = kVersion;
  MachineSessionId machine_session;
  std::int64_t beat_ms;
  std::int64_t lease_ms;
  std::vector<AttemptName> keep;
  std::vector<AttemptName> stop;
};

// A file of a job that came with its assignment.
struct AssignedFile {
  std::string path;
  std::string bytes;
};

struct Assignment {
  AttemptKey attempt;
  std::string exec_file;
  std::int64_t cpu_cores;
  std::int64_t ram_mb;
  std::int64_t disc_mb;
  std::optional<std::int64_t> cpu_ms_max;  // what the job's price buys on this machine
  std::optional<std::string> deadline;
  std::vector<std::string> watched_variables;
  std::vector<AssignedFile> files{};      // all of the job's; none: they are to be fetched
  std::optional<RequestId> request_id{};  // of the HTTP request that submitted the job; for logs
  bool resumable = false;                 // the job's owner wants checkpoints
  bool resume = false;                    // it has a checkpoint that an attempt may go on from
  std::int64_t loss_ms_mean = 0;          // mean time between losses of this machine; 0: unknown
};

struct Assign {
  std::vector<Assignment> jobs;
};

struct Stop {
  std::vector<AttemptName> attempts;
  std::string reason;
};

// The agent is to take a checkpoint of each attempt, send it and hand the attempt back.
struct HandOver {
  std::vector<AttemptName> attempts;
  std::string reason;
};

struct Token {
  std::string token;
  std::string expires_at;
};

// Why message number `re` was not carried out.
struct Problem {
  std::int64_t re;
  std::string code;
  std::string detail;
  std::optional<AttemptName> attempt{};
};

using FromMarket = std::variant<Welcome, Assign, Stop, HandOver, Token, Problem, Ack>;

// --- frames

// Both sides number their messages from 1 on each connection; an Ack alone has no number (0). `ack`: every
// message of the other side up to this number has been handled.
template <class Body>
struct Frame {
  std::int64_t number = 0;
  std::int64_t ack = 0;
  Body body;
};

Result<Frame<FromAgent>> read_from_agent(std::string_view text);

// A message of one attempt (progress, watched_records or outcome) whose content cannot be accepted. Its frame
// can: JSON with a known type, a number, an acknowledgement and an attempt's key.
struct Malformed {
  AttemptKey attempt;
  std::optional<std::int64_t> cpu_ms{};  // of an outcome that says it
};
// For a text that read_from_agent() refuses; none: the frame itself is broken.
std::optional<Frame<Malformed>> read_malformed(std::string_view text);

Result<Frame<FromMarket>> read_from_market(std::string_view text);

// The same for a text that is parsed already.
Result<Frame<FromAgent>> read_from_agent(JsonBody body);
std::optional<Frame<Malformed>> read_malformed(JsonBody body);
Result<Frame<FromMarket>> read_from_market(JsonBody body);

std::string text_of(const Frame<FromAgent>& frame);
std::string text_of(const Frame<FromMarket>& frame);

}  // namespace remotist::protocol
