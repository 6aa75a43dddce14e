// What one machine has been given, how far it is, and what it has to say about it.
//
// Knows nothing of connections: a machine asks it what to say, tells it what was said and what became of it,
// and calls wake() at due(). Draws the misbehaviours that concern one attempt. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "bench/agent_load/chance.h"
#include "bench/agent_load/journal.h"
#include "bench/agent_load/options.h"
#include "bench/agent_load/report.h"
#include "core/protocol.h"
#include "volunteer/connection/window.h"

namespace remotist::bench {

class Work {
 public:
  using Upload = std::function<void(const protocol::AttemptKey& attempt)>;

  // All references must outlive this. `upload` sends an attempt's result over REST; uploaded() ends that.
  Work(const Behaviour& behaviour, Chance& chance, Report& report, Journal& journal, Upload upload);

  // --- what the market says

  void assign(const protocol::Assignment& assignment, Time now);
  void stop(const protocol::AttemptName& attempt, std::string_view reason, Time now);
  // After a reconnect: say again what was not acknowledged. False when the attempt is unknown.
  bool keep(const protocol::AttemptName& attempt, Time now);
  // An accept or refusal, or an outcome, is committed.
  void answer_acknowledged(const protocol::AttemptName& attempt, Time now);
  void outcome_acknowledged(const protocol::AttemptName& attempt, Time now);
  // It was not done, for that reason.
  void answer_not_done(const protocol::AttemptName& attempt, std::string_view code, Time now);
  void outcome_not_done(const protocol::AttemptName& attempt, std::string_view code, Time now);
  // None: it is stored.
  void uploaded(const protocol::AttemptName& attempt, const std::optional<std::string>& code, Time now);

  // --- what the machine has to say

  // Up to so many that wait to be accepted or refused; they count as said, and those accepted begin.
  std::vector<protocol::AttemptKey> take_accepts(std::size_t most, Time now);
  std::vector<protocol::AttemptKey> take_refusals(std::size_t most);

  // The next outcome to say, and how large its files are; none when there is nothing to say.
  struct Next {
    std::size_t file_bytes;
  };
  std::optional<Next> next_outcome();
  // What next_outcome() told of; counts as said. `aside`: nobody waits for what becomes of it.
  struct Said {
    protocol::Outcome outcome;
    bool aside;
  };
  Said take_outcome();

  // Everything that is held, and what of it runs.
  std::vector<protocol::AttemptKey> keys() const;
  std::vector<protocol::Beat::Running> running(Time now) const;
  std::size_t running_count() const;

  // --- what happens to the machine

  // Nothing that was said counts unless it is acknowledged already.
  void connection_lost();
  void forget_all();
  // Forgets up to so many that have neither an outcome nor a refusal under way, and gives them.
  std::vector<protocol::AttemptKey> hand_back(std::size_t most);

  Time due() const;
  void wake(Time now);

 private:
  enum class Stage : std::uint8_t { assigned, refused, running, uploading, ended };
  enum class Told : std::uint8_t { not_yet, queued, said, acknowledged };
  enum class Lie : std::uint8_t { none, wrong_token, wrong_attempt, twice, absurd_cpu };
  struct Held {
    std::string token;
    Stage stage = Stage::assigned;
    std::optional<std::int64_t> cpu_ms_max{};
    Told answer = Told::not_yet;
    Told outcome = Told::not_yet;
    Time began{};
    Time ends{};
    protocol::OutcomeKind kind = protocol::OutcomeKind::completed;
    std::string failure_code{};
    std::int64_t cpu_ms = 0;
    Lie lie = Lie::none;
  };
  using HeldMap = std::map<protocol::AttemptName, Held>;

  enum class What : std::uint8_t { answer, end, upload, outcome };
  struct Timer {
    Time at;
    What what;
    protocol::AttemptName attempt;
    bool operator>(const Timer& other) const { return at > other.at; }
  };

  void queue_answer(HeldMap::value_type& entry);
  void queue_outcome(HeldMap::value_type& entry);
  void begin(HeldMap::iterator entry, Time now);
  void end(HeldMap::value_type& entry, Time now);
  void ended(HeldMap::value_type& entry, Time now);
  void fail(HeldMap::value_type& entry, std::string_view code);
  std::int64_t cpu_ms_of(const Held& held, Time now) const;
  protocol::AttemptKey key_of(const HeldMap::value_type& entry) const {
    return {entry.first, entry.second.token};
  }
  protocol::Outcome false_outcome(const HeldMap::value_type& entry);
  void set_timer(Time at, What what, const protocol::AttemptName& attempt);
  void fire(const Timer& timer, Time now);

  const Behaviour& behaviour_;
  Chance& chance_;
  Report& report_;
  Journal& journal_;
  const Upload upload_;
  HeldMap held_;
  std::deque<protocol::AttemptName> accepts_;  // this and the next two may name what is held no longer
  std::deque<protocol::AttemptName> refusals_;
  std::deque<protocol::AttemptName> outcomes_;
  std::deque<protocol::Outcome> asides_;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
};

}  // namespace remotist::bench
