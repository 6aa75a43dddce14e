// The attempts of one simulated machine, and the reports about them that are to be sent.
//
// Has no connection: a Machine asks it what to send, passes on what was acknowledged, and calls wake() at
// due(). Draws the misbehaviours that concern one attempt. Not thread-safe.
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

#include "bench/agent_load/journal.h"
#include "bench/agent_load/options.h"
#include "bench/agent_load/random_choice.h"
#include "bench/agent_load/report.h"
#include "core/protocol.h"
#include "volunteer/connection/clock.h"

namespace remotist::bench {

class Work {
 public:
  using Upload = std::function<void(const protocol::AttemptKey& attempt)>;

  // All references must outlive this. `upload` sends an attempt's result over REST; uploaded() ends that.
  Work(const Behaviour& behaviour, RandomChoice& random, Report& report, Journal& journal, Upload upload);

  // --- messages from the market

  void assign(const protocol::Assignment& assignment, Time now);
  void stop(const protocol::AttemptName& attempt, std::string_view reason, Time now);
  // After a reconnect: queues again the reports that were not acknowledged. False when the attempt is
  // unknown.
  bool keep(const protocol::AttemptName& attempt, Time now);
  // An accept or refusal, or an outcome, is committed.
  void answer_acknowledged(const protocol::AttemptName& attempt, Time now);
  void outcome_acknowledged(const protocol::AttemptName& attempt, Time now);
  // The market has not accepted it, with this code.
  void answer_rejected(const protocol::AttemptName& attempt, std::string_view code, Time now);
  void outcome_rejected(const protocol::AttemptName& attempt, std::string_view code, Time now);
  // None: it is stored.
  void uploaded(const protocol::AttemptName& attempt, const std::optional<std::string>& code, Time now);

  // --- reports to the market

  // At most so many that are to be accepted or refused; they count as sent, and those accepted begin.
  std::vector<protocol::AttemptKey> take_accepts(std::size_t most, Time now);
  std::vector<protocol::AttemptKey> take_refusals(std::size_t most);

  // The size of the files of the next outcome; none when no outcome is queued.
  struct Next {
    std::size_t file_bytes;
  };
  std::optional<Next> next_outcome();
  // Requires next_outcome(). Counts as sent. `no_reply`: nothing depends on its acknowledgement.
  struct OutgoingOutcome {
    protocol::Outcome outcome;
    bool no_reply;
  };
  OutgoingOutcome take_outcome();

  // Everything that is held, and what of it runs.
  std::vector<protocol::AttemptKey> keys() const;
  std::vector<protocol::Beat::Running> running(Time now) const;
  std::size_t running_count() const;

  // --- events of the machine

  // Reports that were sent and not acknowledged are to be sent again.
  void connection_lost();
  void forget_all();
  // Removes at most so many attempts of which neither an outcome nor a refusal was sent, and returns their
  // keys.
  std::vector<protocol::AttemptKey> hand_back(std::size_t most);

  Time due() const;
  void wake(Time now);

 private:
  enum class Stage : std::uint8_t { assigned, refused, running, uploading, ended };
  enum class ReportState : std::uint8_t { none, queued, sent, acknowledged };
  enum class Lie : std::uint8_t { none, wrong_token, wrong_attempt, twice, absurd_cpu };
  struct Held {
    std::string token;
    Stage stage = Stage::assigned;
    std::optional<std::int64_t> cpu_ms_max{};
    ReportState answer = ReportState::none;
    ReportState outcome = ReportState::none;
    Time began{};
    Time ends{};
    AttemptOutcome kind = AttemptOutcome::completed;
    std::optional<FailureCode> failure_code{};
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
  void fail(HeldMap::value_type& entry, FailureCode code);
  std::int64_t cpu_ms_of(const Held& held, Time now) const;
  protocol::AttemptKey key_of(const HeldMap::value_type& entry) const {
    return {entry.first, entry.second.token};
  }
  protocol::Outcome false_outcome(const HeldMap::value_type& entry);
  void set_timer(Time at, What what, const protocol::AttemptName& attempt);
  void fire(const Timer& timer, Time now);

  const Behaviour& behaviour_;
  RandomChoice& random_;
  Report& report_;
  Journal& journal_;
  const Upload upload_;
  HeldMap held_;
  std::deque<protocol::AttemptName>
      accepts_;  // this and the next two may name attempts that have been removed
  std::deque<protocol::AttemptName> refusals_;
  std::deque<protocol::AttemptName> outcomes_;
  std::deque<protocol::Outcome> no_reply_outcomes_;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
};

}  // namespace remotist::bench
