// The attempts that are assigned to this machine: the state of each, and the reports about them that are to
// be sent to the market.
//
//   assigned ──► fetching ──► running ──► flushing ──► delivering ──► ended ──► removed when the outcome is
//                                                                            acknowledged
//
// flushing: the run has ended, and the last records of its watched variables are not yet acknowledged. A
// running guest is asked for checkpoints (CheckpointSchedule), which go to the market (CheckpointKeeping);
// one that was to resume and did not is fetched again, to start from an older checkpoint or from the
// beginning.
//
// Has no connection, process or file: a MachineSession asks it what to send and passes on what was
// acknowledged; AttemptActions do the work and report when something is done. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "core/protocol.h"
#include "volunteer/agent/checkpoint_actions.h"
#include "volunteer/agent/checkpoint_keeping.h"
#include "volunteer/agent/checkpoint_schedule.h"
#include "volunteer/agent/watched_records.h"
#include "volunteer/connection/clock.h"
#include "volunteer/sandbox/guest.h"

namespace remotist::volunteer {

// Does the work of an attempt. None of these may call Attempts back before it returns.
class AttemptActions : public CheckpointActions {
 public:
  // Whether this machine takes one more attempt than these; else that one is refused.
  virtual bool has_room(std::size_t attempts) = 0;
  // Fetches code, data and, if there is one, the newest checkpoint that this machine can resume and that is
  // not among `skipped`, into a new folder for the attempt; then Attempts::on_fetched().
  virtual void fetch(const protocol::Assignment& assignment,
                     const std::vector<SkippedCheckpoint>& skipped) = 0;
  // Runs the job; then Attempts::on_run_ended(). Requires that it is fetched.
  virtual void run(const protocol::Assignment& assignment) = 0;
  // Stops all processes of the run until they are let go on.
  virtual void set_frozen(const protocol::AttemptName& attempt, bool frozen) = 0;
  // Kills the run; Attempts::on_run_ended() still follows.
  virtual void stop_run(const protocol::AttemptName& attempt) = 0;
  // Uploads the results that are too large for the outcome message; then Attempts::on_delivered(). Is called
  // again after a failure.
  virtual void deliver(const protocol::AttemptKey& attempt, const Verdict& verdict) = 0;
  // Stops everything that is done for the attempt and deletes its folder. If it was running,
  // Attempts::on_run_ended() still follows.
  virtual void drop(const protocol::AttemptName& attempt) = 0;
  // CPU time of a run that has not ended.
  virtual std::int64_t cpu_ms(const protocol::AttemptName& attempt) const = 0;
  // Uploads a value of a watched variable and deletes its file; then Attempts::on_uploaded(). Is called again
  // after a failure.
  virtual void upload(const protocol::AttemptKey& attempt, const LargeValue& value) = 0;
  // Deletes the file of a value that will not be uploaded.
  virtual void discard(const protocol::AttemptName& attempt, const std::string& file) = 0;
};

// The id of the HTTP request that submitted the job, or empty: `request` in the log lines about an attempt.
std::string request_of(const protocol::Assignment& assignment);

// Why a transfer failed. Empty: it succeeded.
struct TransferFault {
  // The code of the market's answer, or no_answer, disk_full, no_file, damaged, limit_disc, invalid_files,
  // lost_writes; of a checkpoint also cancelled, and lacks_frames: the market lacks a chunk that the file
  // does not have either.
  std::string code;
  std::string message;  // for people
  explicit operator bool() const { return !code.empty(); }
};

class Attempts {
 public:
  // From one note about checkpoints to an attempt's next one.
  static constexpr std::int64_t kNoteSeconds = 30;
  static constexpr std::chrono::seconds kNoteInterval{kNoteSeconds};
  // After this time an attempt is handed back as its last checkpoint has it. A little less than the market
  // waits for it.
  static constexpr std::int64_t kHandOverSeconds = 110;
  static_assert(kHandOverSeconds < limits::kHandOverSecondsMax);
  static constexpr std::chrono::seconds kHandOverTime{kHandOverSeconds};
  // How long a paused guest may go on until it has taken a checkpoint.
  static constexpr std::int64_t kFreezeSeconds = 10;
  static constexpr std::chrono::seconds kFreezeTime{kFreezeSeconds};

  // `actions` must outlive this.
  explicit Attempts(AttemptActions& actions) : actions_(actions) {}

  // --- messages from the market

  void assign(const protocol::Assignment& assignment);
  void stop(const protocol::AttemptName& name, std::string_view reason);
  // After a reconnect: queues again the reports that were not acknowledged. False when the attempt is
  // unknown.
  bool keep(const protocol::AttemptName& name);
  // The accept or refusal, the outcome, or the records of watched variables are committed …
  void answer_acknowledged(const protocol::AttemptName& name);
  void outcome_acknowledged(const protocol::AttemptName& name);
  void records_acknowledged(const protocol::AttemptName& name, Time now);
  // … or the market has not accepted them, with this code.
  void answer_rejected(const protocol::AttemptName& name, std::string_view code, Time now);
  void outcome_rejected(const protocol::AttemptName& name, std::string_view code, std::string_view why,
                        Time now);
  void records_rejected(const protocol::AttemptName& name, std::string_view code, Time now);

  // --- results of AttemptActions

  // `resume`: which checkpoint was fetched, and those that could not be, with those skipped before.
  void on_fetched(const protocol::AttemptName& name, const TransferFault& fault, Time now,
                  ResumeReport resume = {});
  void on_progress(const protocol::AttemptName& name, double fraction, std::string message);
  void on_watched_record(const protocol::AttemptName& name, GuestRecord record, Time now);
  void on_uploaded(const protocol::AttemptName& name, const LargeValue& value, const TransferFault& fault,
                   std::vector<std::string> chunks, std::int64_t size, Time now);
  void on_run_ended(const protocol::AttemptName& name, Verdict verdict, Time now);
  // `files` are those that are small enough for the outcome message.
  void on_delivered(const protocol::AttemptName& name, const TransferFault& fault,
                    std::vector<protocol::OutcomeFile> files, Time now);

  // --- checkpoints (attempts_checkpoints.cc)

  void on_resumed(const protocol::AttemptName& name, Time now);
  void on_not_resumable(const protocol::AttemptName& name, std::string_view reason, Time now);
  void on_checkpoint_refused(const protocol::AttemptName& name, std::string_view reason, Time now);
  void on_checkpoint_taken(const protocol::AttemptName& name, CheckpointTaken taken, Time now);
  // Results of CheckpointActions; `number` is the guest's.
  void on_checkpoint_uploaded(const protocol::AttemptName& name, std::uint64_t number,
                              const TransferFault& fault, CheckpointKeeping::Uploaded chunks, Time now);
  void on_checkpoint_recorded(const protocol::AttemptName& name, std::uint64_t number,
                              const TransferFault& fault, std::int64_t sequence, Time now);
  void on_note_sent(const protocol::AttemptName& name, const TransferFault& fault, Time now);
  void on_resume_reported(const protocol::AttemptName& name, const TransferFault& fault, Time now);
  // Hands the attempt back once a checkpoint of it is kept: at once when none is possible, and after
  // kHandOverTime in any case.
  void hand_over(const protocol::AttemptName& name, std::string_view reason, Time now);
  // The same for all attempts that run or will. `leaves`: the machine leaves, and the goodbye will hand them
  // back; a job without checkpoints may run until then.
  void hand_over_all(std::string_view reason, bool leaves, Time now);
  // Asks each running guest for a checkpoint, and freezes it once that is taken, after kFreezeTime in any
  // case; one that cannot take any at once. Also those that begin to run until unpause(). Uploads go on.
  void pause(Time now);
  void unpause(Time now);
  bool is_paused() const { return paused_since_.has_value(); }
  // Whether a goodbye now would lose nothing that hand_over_all() could still save.
  bool can_leave() const;

  // --- reports to the market. A report that is taken counts as sent.

  // At most so many attempts that are to be accepted; fetching begins.
  std::vector<protocol::AttemptKey> take_accepts(std::size_t count_max);
  struct Refusals {
    std::vector<protocol::AttemptKey> attempts;
    std::string reason;
  };
  Refusals take_refusals(std::size_t count_max);
  // The newest progress of an attempt that has any.
  std::optional<protocol::Progress> take_progress();
  // Records of one attempt's watched variables that fit into so many bytes.
  std::optional<protocol::WatchedRecords> take_records(std::size_t bytes_max, Time now);
  // An upper bound of the bytes that files and texts take in the next outcome's message; none when no outcome
  // is queued.
  std::optional<std::size_t> next_outcome_bytes();
  // Requires next_outcome_bytes(). `no_reply`: the attempt is over already, and nothing depends on the
  // acknowledgement.
  struct OutgoingOutcome {
    protocol::Outcome outcome;
    bool no_reply;
  };
  OutgoingOutcome take_outcome();
  // Queues an outcome whose acknowledgement changes nothing here.
  void queue_no_reply(protocol::Outcome outcome);

  // --- all attempts

  std::vector<protocol::AttemptKey> keys() const;
  // What a beat names: each accepted attempt whose outcome has not been sent.
  std::vector<protocol::Beat::Running> running() const;
  std::size_t count() const { return attempts_.size(); }
  // The key that authorises requests about the attempt; none when it is not here any more.
  std::optional<protocol::AttemptKey> key(const protocol::AttemptName& name) const;

  // Reports that were sent and not acknowledged are to be sent again.
  void connection_lost();
  // Drops at most so many attempts whose outcome has not been sent, and returns their keys for the goodbye.
  std::vector<protocol::AttemptKey> hand_back(std::size_t count_max);
  // Drops an attempt, or all of them, without a report.
  void remove(const protocol::AttemptName& name);
  void remove_all();

  // When to call wake() for the next retry. Never: Time::max().
  Time due() const;
  void wake(Time now);

 private:
  enum class Stage : std::uint8_t { assigned, refused, fetching, running, flushing, delivering, ended };
  enum class ReportState : std::uint8_t { none, queued, sent, acknowledged };
  // About checkpoints that do not come.
  struct Note {
    std::string wanted{};
    std::string told{};
    std::string sending{};
    bool is_sending = false;
    Time not_before{};
  };
  // What the attempt goes on from. The report is only sent when the job had a checkpoint.
  struct Resume {
    ResumeReport report{};
    bool restored = false;  // by the guest
    ReportState state = ReportState::none;
    int failures = 0;
    Time retry_at{};
  };
  struct HandOver {
    Time since{};
    Time until{};
    std::string reason{};
    bool leaves = false;  // with the goodbye
    bool kept = false;    // a checkpoint from after `since`, or the last one that there will be
  };
  struct Attempt {
    protocol::Assignment assignment;
    Stage stage = Stage::assigned;
    ReportState answer = ReportState::none;
    ReportState outcome = ReportState::none;
    std::string transfer_token{};  // the attempt's token when the current transfer began
    int failures = 0;              // of the transfer, in a row
    Verdict verdict{};
    AttemptOutcome kind = AttemptOutcome::completed;
    std::optional<FailureCode> failure_code{};
    std::string failure_detail{};
    std::vector<protocol::OutcomeFile> files{};
    std::optional<std::pair<double, std::string>> progress{};
    Time retry_at = Time::max();
    WatchedRecordQueue records{assignment.watched_variables};
    int upload_failures = 0;         // in a row
    std::int64_t cpu_ms_before = 0;  // of runs that did not resume
    CheckpointSchedule schedule{assignment.loss_ms_mean, assignment.cpu_cores};
    CheckpointKeeping keeping{};
    std::string keeping_problem{};  // why the newest could not be kept
    Note note{};
    Resume resume{};
    std::optional<HandOver> hand_over{};
    Time captured_at{};  // when the state of the newest checkpoint was captured
    Time kept_at{};      // likewise of the newest that the market has
    bool is_frozen = false;
  };
  using AttemptMap = std::map<protocol::AttemptName, Attempt>;

  Attempt* find(const protocol::AttemptName& name);
  void fetch(Attempt& attempt);
  void deliver(Attempt& attempt);
  void end(Attempt& attempt);
  void fail(Attempt& attempt, FailureCode code, std::string_view detail);
  // The market does not accept the job's results: reports the attempt as failed instead.
  void fail_unreportable(Attempt& attempt, std::string_view why);
  void hand_back(Attempt& attempt, std::string_view why);
  // Reports the CPU time of an attempt that the market has ended. It is paid when the job was cancelled or
  // has expired, which the agent may not know: a message about the attempt can overtake the market's reason,
  // and is answered with `stale_attempt`.
  void report_cpu_time(const Attempt& attempt);
  // True when the attempt is removed or the transfer will be retried; false when the caller goes on.
  bool retry_or_remove(Attempt& attempt, const TransferFault& fault, Time now);
  void upload_next(Attempt& attempt, Time now);
  // Delivers an attempt that is flushing once all its records are acknowledged.
  void deliver_if_flushed(Attempt& attempt, Time now);
  void queue_answer(Attempt& attempt);
  void queue_outcome(Attempt& attempt);
  std::int64_t cpu_ms_of(const Attempt& attempt) const;

  // attempts_checkpoints.cc
  void step_checkpoints(Attempt& attempt, Time now);
  void wake_checkpoints(Attempt& attempt, Time now);
  Time checkpoints_due(const Attempt& attempt) const;
  void record_checkpoint(Attempt& attempt, Time now);
  void end_keeping(Attempt& attempt, std::uint64_t number);
  void keeping_failed(Attempt& attempt, std::uint64_t number, const TransferFault& fault, Time now);
  void update_note(Attempt& attempt, Time now);
  void report_resume(Attempt& attempt);
  void skip_checkpoint(Attempt& attempt, const Verdict& verdict);
  void step_pause(Attempt& attempt, Time now);
  void begin_hand_over(Attempt& attempt, HandOver hand_over, Time now);
  void finish_hand_over(Attempt& attempt);

  AttemptActions& actions_;
  AttemptMap attempts_;
  // The queues may name attempts that have been removed.
  std::deque<protocol::AttemptName> accepts_;
  std::deque<protocol::AttemptName> refusals_;
  std::deque<protocol::AttemptName> outcomes_;
  std::deque<protocol::AttemptName> progresses_;
  std::deque<protocol::Outcome> no_reply_outcomes_;
  std::optional<Time> paused_since_;
  std::optional<protocol::AttemptName> last_records_of_;  // the attempts after this one have their turn
};

}  // namespace remotist::volunteer
