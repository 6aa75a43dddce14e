// One simulated machine: the agent's own session and attempts (volunteer/agent) with simulated jobs, on a
// connection that vanishes or freezes as the options say.
//
// Has no socket: it acts through MachineIo and is told what happens there. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "bench/agent_load/journal.h"
#include "bench/agent_load/machine_list.h"
#include "bench/agent_load/machine_observer.h"
#include "bench/agent_load/options.h"
#include "bench/agent_load/random_choice.h"
#include "bench/agent_load/report.h"
#include "bench/agent_load/simulated_jobs.h"
#include "core/protocol.h"
#include "volunteer/agent/machine_session.h"

namespace remotist::bench {

// What a machine does outside itself. None of these may call the machine back before it returns.
class MachineIo {
 public:
  virtual ~MachineIo() = default;
  virtual void connect(const std::string& token) = 0;  // then on_connected() or on_connect_failed()
  virtual void send(std::string_view text) = 0;
  // on_closed() does not follow.
  virtual void disconnect(bool with_close_frame) = 0;
  // While frozen nothing is read or written, and the connection stays open. What has come meanwhile must be
  // passed on before the next wake().
  virtual void set_frozen(bool frozen) = 0;
  virtual void upload(const std::string& token, const protocol::AttemptKey& attempt) = 0;  // then uploaded()
};

class Machine final : private volunteer::SessionIo {
 public:
  // All references must outlive this. `seed` and `index` determine its random choices.
  Machine(MachineCredentials lent, const Behaviour& behaviour, Report& report, Journal& journal,
          MachineIo& io, std::uint64_t seed, std::uint64_t index);

  // --- events; after each of these due() may have changed

  void on_connected(Time now);
  void on_connect_failed(int status, std::string_view why, Time now);
  // Call send_pending() after the last of the messages that came together.
  void on_message(std::string_view text, Time now);
  void send_pending(Time now);
  void on_closed(int code, std::string_view why, Time now);
  void uploaded(const protocol::AttemptName& attempt, const std::optional<std::string>& code, Time now);
  void wake(Time now);
  // Ends the machine: with a goodbye, or at once when `rude` or not connected.
  void leave(bool rude, Time now);

  // When to call wake(). At first: now.
  Time due() const;
  bool connected() const { return session_.connected(); }
  bool retired() const { return left_rudely_ || session_.ended(); }
  std::size_t running_count() const { return jobs_.running_count(); }

 private:
  // SessionIo
  void connect(const std::string& token) override;
  void send(std::string_view text) override;
  void disconnect(bool with_close_frame) override;
  void store_token(const protocol::Token&) override {}
  void request_token() override;
  protocol::Beat read_gauges() override;

  bool frozen() const { return thaw_at_ != Time::max(); }
  void vanish();
  void freeze();
  void thaw();
  // Whether the message waits, with those after it, because accepts are to be delayed.
  bool delays(std::string_view text);
  void handle_delayed();
  // Passes on what the event led to.
  void settle();
  void connection_over();

  const MachineId id_;
  const Behaviour& behaviour_;
  Report& report_;
  MachineIo& io_;
  RandomChoice random_;
  Time now_{};  // of the event that is handled
  SimulatedJobs jobs_;
  Attempts attempts_{jobs_};
  volunteer::MachineSession session_;
  MachineObserver observer_;

  struct Delayed {
    Time until;
    std::string text;
  };
  std::deque<Delayed> delayed_;  // messages of the market
  bool token_refused_ = false;
  bool leaving_ = false;
  bool left_rudely_ = false;
  bool rejection_counted_ = false;
  Time away_until_{};  // after it vanished

  // Never: Time::max().
  Time connect_at_ = Time::max();
  Time vanish_at_ = Time::max();
  Time freeze_at_ = Time::max();
  Time thaw_at_ = Time::max();  // set while frozen
};

}  // namespace remotist::bench
