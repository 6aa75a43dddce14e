// What a run of agent_load has seen: counted by the machines, printed at the end. One thread writes it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "bench/agent_load/durations.h"
#include "volunteer/connection/clock.h"

namespace remotist::bench {

using volunteer::Clock;
using volunteer::Time;

struct Report {
  using Counts = std::map<std::string, std::uint64_t, std::less<>>;

  std::uint64_t assigned = 0;
  std::uint64_t accepted = 0;  // this and the next four: acknowledged
  std::uint64_t refused = 0;
  std::uint64_t completed = 0;
  std::uint64_t failed = 0;
  std::uint64_t handed_back = 0;
  std::uint64_t stopped = 0;
  std::uint64_t welcomes = 0;
  std::uint64_t reconnects = 0;  // of the welcomes, all but each machine's first
  std::uint64_t not_connected = 0;
  std::uint64_t uploads = 0;
  std::uint64_t retired = 0;  // machines that ended before the run did

  // What the machines did on purpose.
  std::uint64_t lost = 0;
  std::uint64_t lies = 0;
  std::uint64_t vanished = 0;
  std::uint64_t frozen = 0;

  Counts problems;  // by code
  Counts closes;    // by the market, by number; 0: without a close frame
  Counts breaches;  // of docs/protocol.md by the market

  Durations accept_to_ack;
  Durations outcome_to_ack;

  std::optional<Time> first_assigned;
  std::optional<Time> last_completed;

  void count_assigned(Time now);
  void count_completed(Time now);

  // Completed outcomes a second, from the first assignment to the last acknowledgement.
  double completed_per_second() const;

  // One JSON object in several lines.
  std::string text(std::uint64_t seed, std::chrono::duration<double> took,
                   std::chrono::duration<double> cpu) const;
};

}  // namespace remotist::bench
