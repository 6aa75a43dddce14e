// What an owner does once: log in to a market, lend a machine to it, and get the token by which the agent
// speaks for that machine. Blocking; each throws std::runtime_error, or Unreachable, with words for the
// owner.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "volunteer/agent/state_folder.h"

namespace remotist::volunteer {

// The market cannot answer now: another try may succeed.
struct Unreachable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Logs in; keeps nothing.
Login log_in(std::string url, std::string ca_file, const std::string& email, const std::string& password);

struct MachineOffer {
  std::string name;
  std::int64_t cpu_cores;
  std::int64_t ram_mb;
  std::int64_t disc_mb;
  double price;  // credits for an hour of one core
};
LentMachine add_machine(const Login& login, const MachineOffer& offer);

// A fresh token for the machine; every older one ends. Throws, too, when the market wants the token over a
// connection without encryption after an encrypted log-in, unless `token_may_be_plaintext`.
void start_volunteer(const Login& login, LentMachine& machine, bool token_may_be_plaintext);

// Seconds from now to a time such as 2026-02-01T00:00:00.000Z; 0 when it is past or cannot be read.
std::int64_t seconds_until(const std::string& time);

}  // namespace remotist::volunteer
