// What this machine has been given, how far each attempt is, and what is to be said about it.
//
//   assigned ──► fetching ──► running ──► settling ──► delivering ──► ended ──► forgotten once the outcome is
//                                                                            acknowledged
//
// settling: what its watched variables were last is not yet acknowledged.
//
// Knows nothing of connections, processes or files: a Session asks it what to say and tells it what was
// acknowledged; Hands do the work and tell it when something is done. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/protocol.h"
#include "volunteer/agent/partials.h"
#include "volunteer/connection/window.h"
#include "volunteer/sandbox/guest.h"

namespace remotist::volunteer {

// Does what an attempt needs. Nothing here calls back before it returns.
class Hands {
 public:
  virtual ~Hands() = default;
  // Code and data into the attempt's folder; then Jobs::fetched().
  virtual void fetch(const protocol::Assignment& assignment) = 0;
  // Runs it; then Jobs::ran(). Requires that it is fetched.
  virtual void run(const protocol::Assignment& assignment) = 0;
  // Sends what an outcome cannot carry; then Jobs::delivered(). May be asked again after a failure.
  virtual void deliver(const protocol::AttemptKey& attempt, const Verdict& verdict) = 0;
  // Ends whatever goes on for the attempt and deletes its folder; of a run the end is still told, by ran().
  virtual void drop(const protocol::AttemptName& attempt) = 0;
  // Of a run that goes on.
  virtual std::int64_t cpu_ms(const protocol::AttemptName& attempt) const = 0;
  // Uploads a watched variable's value; then Jobs::uploaded(). Its file is gone once that has succeeded. May
  // be asked again after a failure.
  virtual void upload(const protocol::AttemptKey& attempt, const LargeValue& value) = 0;
  // Deletes the file of a value that nobody asks for any more.
  virtual void discard(const protocol::AttemptName& attempt, const std::string& file) = 0;
};

// Why a transfer did not succeed. Empty: it did.
struct TransferFault {
  // Of the market's answer, or no_answer, disk_full, no_file, damaged, limit_disc, invalid_files,
  // lost_writes.
  std::string code;
  std::string words;  // for people
  explicit operator bool() const { return !code.empty(); }
};

class Jobs {
 public:
  // `hands` must outlive this. Takes at most so many attempts at once and refuses more.
  Jobs(Hands& hands, std::size_t attempts_max);

  // --- what the market says

  void assign(const protocol::Assignment& assignment);
  void stop(const protocol::AttemptName& attempt, std::string_view reason);
  // After a reconnect: says again what was not acknowledged. False when the attempt is unknown.
  bool keep(const protocol::AttemptName& attempt);
  // An accept or refusal, an outcome, or records of watched variables are committed …
  void answer_acknowledged(const protocol::AttemptName& attempt);
  void outcome_acknowledged(const protocol::AttemptName& attempt);
  void partials_acknowledged(const protocol::AttemptName& attempt, Time now);
  // … or was not done, for that reason.
  void answer_not_done(const protocol::AttemptName& attempt, std::string_view code, Time now);
  void outcome_not_done(const protocol::AttemptName& attempt, std::string_view code, std::string_view why,
                        Time now);
  void partials_not_done(const protocol::AttemptName& attempt, std::string_view code, Time now);

  // --- what the hands have done

  void fetched(const protocol::AttemptName& attempt, const TransferFault& fault, Time now);
  void progressed(const protocol::AttemptName& attempt, double fraction, std::string message);
  void changed(const protocol::AttemptName& attempt, PartialValue value, Time now);
  void uploaded(const protocol::AttemptName& attempt, const LargeValue& value, const TransferFault& fault,
                std::vector<std::string> chunks, std::int64_t size, Time now);
  void ran(const protocol::AttemptName& attempt, Verdict verdict, Time now);
  // `files` are those that are small enough to come with the outcome.
  void delivered(const protocol::AttemptName& attempt, const TransferFault& fault,
                 std::vector<protocol::OutcomeFile> files, Time now);

  // --- what is to be said

  // Up to so many that wait to be accepted; they count as said, and begin.
  std::vector<protocol::AttemptKey> take_accepts(std::size_t most);
  struct Refusals {
    std::vector<protocol::AttemptKey> attempts;
    std::string reason;
  };
  Refusals take_refusals(std::size_t most);
  // The newest of an attempt that has any; none when nothing is new.
  std::optional<protocol::Progress> take_progress();
  // Records of an attempt's watched variables that fit into so many bytes; none when there is nothing to say.
  std::optional<protocol::Partials> take_partials(std::size_t bytes_max, Time now);
  // How many bytes of the next outcome's message its files and words are, at most; none when there is nothing
  // to say.
  std::optional<std::size_t> next_outcome_bytes();
  // Requires next_outcome_bytes(). Counts as said. `aside`: it is over already, nobody waits for what becomes
  // of it.
  struct Said {
    protocol::Outcome outcome;
    bool aside;
  };
  Said take_outcome();

  // --- all of them

  std::vector<protocol::AttemptKey> keys() const;
  // What a beat names: everything accepted whose outcome has not been said.
  std::vector<protocol::Beat::Running> running() const;
  std::size_t count() const { return held_.size(); }
  // The key by which requests about the attempt are proved; none when it is held no longer.
  std::optional<protocol::AttemptKey> key(const protocol::AttemptName& attempt) const;

  // Nothing that was said counts unless it is acknowledged already.
  void connection_lost();
  // Drops up to so many whose outcome is not under way, and gives them. Done before a goodbye.
  std::vector<protocol::AttemptKey> hand_back(std::size_t most);
  void drop_all();

  // When to call wake(): something that failed is tried again then.
  Time due() const;
  void wake(Time now);

 private:
  enum class Stage : std::uint8_t { assigned, refused, fetching, running, settling, delivering, ended };
  enum class Told : std::uint8_t { not_yet, queued, said, acknowledged };
  struct Held {
    protocol::Assignment assignment;
    Stage stage = Stage::assigned;
    Told answer = Told::not_yet;
    Told outcome = Told::not_yet;
    std::string transfer_token{};  // with which the transfer under way began
    int failures = 0;              // of the transfer, in a row
    Verdict verdict{};
    protocol::OutcomeKind kind = protocol::OutcomeKind::completed;
    std::string failure_code{};
    std::string failure_detail{};
    std::vector<protocol::OutcomeFile> files{};
    std::optional<std::pair<double, std::string>> progress{};
    Time again_at = Time::max();
    Partials partials{assignment.watched_variables};
    int upload_failures = 0;  // in a row
  };
  using HeldMap = std::map<protocol::AttemptName, Held>;

  Held* find(const protocol::AttemptName& attempt);
  void forget(const protocol::AttemptName& attempt);
  void fetch(Held& held);
  void deliver(Held& held);
  void end(Held& held);
  void fail(Held& held, std::string_view code, std::string_view detail);
  // What its job left cannot be told to the market: it fails, and says why instead.
  void fail_unreportable(Held& held, std::string_view why);
  void hand_back(Held& held, std::string_view why);
  // True when it was dealt with: the attempt is over, or is tried again later.
  bool recover(Held& held, const TransferFault& fault, Time now);
  void upload_next(Held& held, Time now);
  // Goes on with what waited for the acknowledgement of records.
  void settle(Held& held, Time now);
  void queue_answer(Held& held);
  void queue_outcome(Held& held);

  Hands& hands_;
  const std::size_t attempts_max_;
  HeldMap held_;
  std::deque<protocol::AttemptName> accepts_;  // these may name what is held no longer
  std::deque<protocol::AttemptName> refusals_;
  std::deque<protocol::AttemptName> outcomes_;
  std::deque<protocol::AttemptName> progresses_;
  std::deque<protocol::Outcome> asides_;
  std::optional<protocol::AttemptName> partials_after_;  // whose records were taken last: others come first
};

}  // namespace remotist::volunteer
