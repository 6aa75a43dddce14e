// One simulated machine: connects, sends hello, accepts jobs, reports outcomes, and connects again after the
// connection is lost.
//
// Has no socket: it acts through MachineIo and is told what happens there. Violations of docs/protocol.md by
// the market are counted as breaches. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/agent_load/journal.h"
#include "bench/agent_load/machine_list.h"
#include "bench/agent_load/options.h"
#include "bench/agent_load/random_choice.h"
#include "bench/agent_load/report.h"
#include "bench/agent_load/work.h"
#include "core/protocol.h"
#include "volunteer/connection/sent_message.h"

namespace remotist::bench {

using volunteer::MessageWindow;
using volunteer::SentMessage;

// What a machine does outside itself. None of these may call the machine back before it returns.
class MachineIo {
 public:
  virtual ~MachineIo() = default;
  virtual void connect(const std::string& token) = 0;  // then on_connected() or on_connect_failed()
  virtual void send(std::string_view text) = 0;
  // on_closed() does not follow.
  virtual void disconnect(bool with_close_frame) = 0;
  // While frozen nothing is read or written, and the connection stays open.
  virtual void set_frozen(bool frozen) = 0;
  virtual void upload(const std::string& token, const protocol::AttemptKey& attempt) = 0;  // then uploaded()
};

class Machine {
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
  bool connected() const { return phase_ == Phase::connected || phase_ == Phase::leaving; }
  bool retired() const { return phase_ == Phase::retired; }
  std::size_t running_count() const { return work_.running_count(); }

 private:
  enum class Phase : std::uint8_t { disconnected, connecting, awaiting_welcome, connected, leaving, retired };

  void handle(const protocol::Welcome& welcome, Time now);
  void handle(const protocol::Assign& assign, Time now);
  void handle(const protocol::Stop& stop, Time now);
  void handle(const protocol::Token& token, Time now);
  void handle(const protocol::Problem& problem, Time now);
  void handle(const protocol::Ack&, Time) {}
  void count_received(std::int64_t number, std::size_t bytes);
  void on_ack(std::int64_t number, Time now);

  void send(protocol::FromAgent body, SentMessage::Kind kind, std::vector<protocol::AttemptName> about,
            Time now);
  // Sends one message that is queued; false when there is none, or no room for it.
  bool send_next(Time now);
  bool send_accept(Time now);
  bool send_refuse(Time now);
  bool send_outcome(Time now);
  bool send_beat(Time now);
  bool send_goodbye(Time now);

  void vanish(Time now);
  void freeze(Time now);
  void disconnected(Time back);
  Time next_reconnect(Time now);
  void retire(std::string_view what, std::string_view why);
  void breach(std::string_view rule, std::string_view detail);

  const MachineId id_;
  std::string token_;
  const Behaviour& behaviour_;
  Report& report_;
  MachineIo& io_;
  RandomChoice random_;
  Work work_;

  Phase phase_ = Phase::disconnected;
  bool welcomed_once_ = false;
  std::int64_t reconnect_delay_ms_;
  Clock::duration beat_interval_{};
  Clock::duration lease_{};

  // of this connection
  MessageWindow window_;
  std::int64_t received_ = 0;       // the number of the market's last message
  std::int64_t acked_ = 0;          // the number that was last acknowledged to the market
  std::size_t received_bytes_ = 0;  // since that acknowledgement
  bool beat_pending_ = false;
  bool renew_pending_ = false;
  bool goodbye_pending_ = false;

  // Never: Time::max().
  Time reconnect_at_{};
  Time silence_deadline_ = Time::max();  // without a message by then the connection counts as lost
  Time beat_at_ = Time::max();
  Time renew_at_ = Time::max();
  Time vanish_at_ = Time::max();
  Time freeze_at_ = Time::max();
  Time thaw_at_ = Time::max();  // set while frozen
};

}  // namespace remotist::bench
