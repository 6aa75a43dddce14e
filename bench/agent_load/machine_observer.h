// Counts the messages of one machine into the report and the journal, and the market's violations of
// docs/protocol.md as breaches. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bench/agent_load/journal.h"
#include "bench/agent_load/report.h"
#include "bench/agent_load/simulated_jobs.h"
#include "core/id.h"
#include "volunteer/agent/session_observer.h"

namespace remotist::bench {

using volunteer::SentMessage;

// So many complaints of the same kind are logged; the others are only counted.
inline constexpr std::uint64_t kComplaintsMax = 5;

class MachineObserver final : public volunteer::SessionObserver {
 public:
  // All references must outlive this; `now` is the time of the event that the machine handles.
  MachineObserver(MachineId machine, Report& report, Journal& journal, SimulatedJobs& jobs,
                  const Attempts& attempts, const Time& now);

  // The messages of another connection follow.
  void on_connected();

  void on_received(const Result<protocol::Frame<protocol::FromMarket>>& message, std::size_t bytes) override;
  void on_sent(const protocol::Frame<protocol::FromAgent>& message) override;
  void on_acknowledged(const SentMessage& message) override;

 private:
  void count(const protocol::Welcome& welcome);
  void count(const protocol::Assign& assign);
  void count(const protocol::Stop& stop);
  void count(const protocol::Problem& problem);
  void count(const protocol::HandOver&) {}
  void count(const protocol::Token&) {}
  void count(const protocol::Ack&) {}
  void stopped(const protocol::AttemptName& attempt);
  void outcome_acknowledged(const protocol::AttemptName& attempt);
  void check_number(std::int64_t number, std::size_t bytes);
  void check_ack(std::int64_t ack);
  void breach(std::string_view rule, std::string_view detail);

  const MachineId machine_;
  Report& report_;
  Journal& journal_;
  SimulatedJobs& jobs_;
  const Attempts& attempts_;
  const Time& now_;
  bool welcomed_once_ = false;

  // of this connection
  bool welcomed_ = false;
  std::int64_t received_ = 0;       // the number of the market's last message
  std::int64_t acked_ = 0;          // the number that was last acknowledged to the market
  std::size_t received_bytes_ = 0;  // since that acknowledgement
  std::int64_t sent_ = 0;           // the number of the last message to the market
  std::int64_t acknowledged_ = 0;   // the number that the market last acknowledged
};

}  // namespace remotist::bench
