// Enrols a machine: logs its owner in, lends the machine, and gets the token with which the agent connects as
// that machine. Blocking; each throws std::runtime_error, or Unreachable, with a message for the owner.
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

// Stores nothing.
Login log_in(std::string url, std::string ca_file, const std::string& email, const std::string& password);

struct MachineOffer {
  std::string name;
  std::int64_t cpu_cores;
  std::int64_t ram_mb;
  std::int64_t disc_mb;
  double price;  // credits for an hour of one core
};
LentMachine add_machine(const Login& login, const MachineOffer& offer);

// Gets a new token for the machine; every older one becomes invalid. Throws, too, when the market wants the
// token over a connection without encryption after an encrypted login, unless `token_may_be_plaintext`.
void start_volunteer(const Login& login, LentMachine& machine, bool token_may_be_plaintext);

// Seconds from now to a time such as 2026-02-01T00:00:00.000Z; 0 when it is past or cannot be read.
std::int64_t seconds_until(const std::string& time);

}  // namespace remotist::volunteer
