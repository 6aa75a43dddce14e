// One lent machine as the market sees it: connects, says hello, takes jobs, says what became of them, and
// connects again when the connection is gone.
//
// Has no socket of its own: it acts on its Surroundings and is told what happens there, so that a test can be
// them. What the market does against docs/protocol.md is counted as a breach, not trusted. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/agent_load/chance.h"
#include "bench/agent_load/journal.h"
#include "bench/agent_load/options.h"
#include "bench/agent_load/report.h"
#include "bench/agent_load/roster.h"
#include "bench/agent_load/work.h"
#include "core/protocol.h"
#include "volunteer/connection/window.h"

namespace remotist::bench {

using volunteer::Sent;
using volunteer::Window;

// What a machine can do. Nothing here calls the machine back before it returns.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  virtual void dial(const std::string& token) = 0;  // then opened() or not_opened()
  virtual void send(std::string_view text) = 0;
  // closed() does not follow. `politely`: with a close frame.
  virtual void hang_up(bool politely) = 0;
  // While frozen nothing is read or written; the connection stays.
  virtual void set_frozen(bool frozen) = 0;
  virtual void upload(const std::string& token, const protocol::AttemptKey& attempt) = 0;  // then uploaded()
};

class Machine {
 public:
  // All references must outlive this. `index` makes its luck differ from the other machines'.
  Machine(Lent lent, const Behaviour& behaviour, Report& report, Journal& journal, Surroundings& surroundings,
          std::uint64_t seed, std::uint64_t index);

  // --- what happens around it; after each of these due() may have changed

  void opened(Time now);
  void not_opened(int status, std::string_view why, Time now);
  // A message. Call speak() after the last of those that came together, so that they are answered together.
  void heard(std::string_view text, Time now);
  void speak(Time now);
  void closed(int code, std::string_view why, Time now);
  void uploaded(const protocol::AttemptName& attempt, const std::optional<std::string>& code, Time now);
  void wake(Time now);
  // Leaves for good: with a goodbye, or at once when rude or not connected.
  void leave(bool rude, Time now);

  // When to call wake(). At first: now.
  Time due() const;
  bool connected() const { return phase_ == Phase::present || phase_ == Phase::leaving; }
  bool retired() const { return phase_ == Phase::retired; }
  std::size_t running_count() const { return work_.running_count(); }

 private:
  enum class Phase : std::uint8_t { away, dialling, greeting, present, leaving, retired };

  void take(const protocol::Welcome& welcome, Time now);
  void take(const protocol::Assign& assign, Time now);
  void take(const protocol::Stop& stop, Time now);
  void take(const protocol::Token& token, Time now);
  void take(const protocol::Problem& problem, Time now);
  void take(const protocol::Ack&, Time) {}
  void count_heard(std::int64_t number, std::size_t bytes);
  void settle(std::int64_t ack, Time now);

  void say(protocol::FromAgent body, Sent::Kind kind, std::vector<protocol::AttemptName> about, Time now);
  // Says one thing that waits; false when nothing does, or when there is no room for it.
  bool say_next(Time now);
  bool say_accept(Time now);
  bool say_refuse(Time now);
  bool say_outcome(Time now);
  bool say_beat(Time now);
  bool say_goodbye(Time now);

  void vanish(Time now);
  void freeze(Time now);
  void go_away(Time back);
  Time after_pause(Time now);
  void retire(std::string_view what, std::string_view why);
  void breach(std::string_view rule, std::string_view detail);

  const MachineId id_;
  std::string token_;
  const Behaviour& behaviour_;
  Report& report_;
  Surroundings& surroundings_;
  Chance chance_;
  Work work_;

  Phase phase_ = Phase::away;
  bool welcomed_once_ = false;
  std::int64_t pause_ms_;
  Clock::duration beat_{};
  Clock::duration lease_{};

  // of this connection
  Window window_;
  std::int64_t heard_ = 0;       // the market's last number …
  std::int64_t told_heard_ = 0;  // … and the one that it was last told of,
  std::size_t heard_bytes_ = 0;  // and how much came since
  bool beat_waits_ = false;
  bool renew_waits_ = false;
  bool goodbye_waits_ = false;

  // when something happens; never: Time::max()
  Time back_at_{};
  Time quiet_at_ = Time::max();  // the market is taken for dead
  Time beat_at_ = Time::max();
  Time renew_at_ = Time::max();
  Time vanish_at_ = Time::max();
  Time freeze_at_ = Time::max();
  Time thaw_at_ = Time::max();  // set while frozen
};

}  // namespace remotist::bench
