// The jobs of one simulated machine: a fetch succeeds at once, a run takes its time and computes nothing, and
// the result is made from the attempt's name. Draws the misbehaviours that concern one attempt.
//
// Attempts calls the actions; what they lead to is reported to it by report_to(), which the machine calls
// after each event. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "bench/agent_load/options.h"
#include "bench/agent_load/random_choice.h"
#include "bench/agent_load/report.h"
#include "core/protocol.h"
#include "volunteer/agent/attempts.h"

namespace remotist::bench {

using volunteer::Attempts;
using volunteer::LargeValue;
using volunteer::TransferFault;
using volunteer::Verdict;

class SimulatedJobs final : public volunteer::AttemptActions {
 public:
  // Sends an attempt's result over REST; then uploaded().
  using Upload = std::function<void(const protocol::AttemptKey& attempt)>;

  // All references must outlive this; `now` is the time of the event that the machine handles.
  SimulatedJobs(const Behaviour& behaviour, RandomChoice& random, Report& report, const Time& now,
                Upload upload);

  // AttemptActions
  bool has_room(std::size_t attempts) override;
  void fetch(const protocol::Assignment& assignment,
             const std::vector<volunteer::SkippedCheckpoint>& skipped) override;
  void run(const protocol::Assignment& assignment) override;
  void stop_run(const protocol::AttemptName& attempt) override;
  void set_frozen(const protocol::AttemptName&, bool) override {}
  void deliver(const protocol::AttemptKey& attempt, const Verdict& verdict) override;
  void drop(const protocol::AttemptName& attempt) override;
  std::int64_t cpu_ms(const protocol::AttemptName& attempt) const override;
  void upload(const protocol::AttemptKey& attempt, const LargeValue& value) override;
  void discard(const protocol::AttemptName& attempt, const std::string& file) override;
  // Simulated jobs take no checkpoints and resume from none.
  void request_checkpoint(const protocol::AttemptName&, bool) override {}
  void upload_checkpoint(const protocol::AttemptKey&, const volunteer::CheckpointKeeping::Taken&) override {}
  void cancel_upload(const protocol::AttemptName&) override {}
  void hurry_uploads(const protocol::AttemptName&) override {}
  void record_checkpoint(const protocol::AttemptKey&, volunteer::CheckpointRecord) override {}
  void confirm_checkpoint(const protocol::AttemptName&, std::uint64_t) override {}
  void discard_checkpoint(const protocol::AttemptName&, const std::filesystem::path&) override {}
  void send_note(const protocol::AttemptKey& attempt, const volunteer::CheckpointNote&) override;
  void report_resume(const protocol::AttemptKey& attempt, const volunteer::ResumeReport&) override;

  // None: it is stored. Else the code of what went wrong.
  void uploaded(const protocol::AttemptName& attempt, const std::optional<std::string>& code);
  void outcome_sent(const protocol::Outcome& outcome);
  // None when no outcome was sent, or the attempt is dropped.
  std::optional<AttemptOutcome> outcome_of(const protocol::AttemptName& attempt) const;

  // Reports what is due to the attempts; false when nothing was.
  bool report_to(Attempts& attempts);
  // When to call report_to().
  Time due() const;
  std::size_t running_count() const { return running_count_; }

 private:
  enum class Lie : std::uint8_t { none, wrong_token, wrong_attempt, twice, absurd_cpu };
  struct Job {
    std::string token;
    std::optional<std::int64_t> cpu_ms_max{};
    bool running = false;
    bool price_used_up = false;
    Time began{};
    Time ends{};
    Lie lie = Lie::none;
    std::optional<AttemptOutcome> outcome{};  // that was sent
  };
  using JobMap = std::map<protocol::AttemptName, Job>;
  // The attempt that a step is about may have been dropped meanwhile.
  using Step = std::move_only_function<void(Attempts&)>;

  void fetched(const protocol::AttemptName& name, Attempts& attempts);
  void run_ended(const protocol::AttemptName& name, Attempts& attempts);
  void delivered(const protocol::AttemptName& name, bool completed, Attempts& attempts);
  Verdict verdict_on(const JobMap::value_type& entry);
  // Says something false about the job, which will be counted as such.
  void lie(JobMap::value_type& entry, Verdict& verdict, Attempts& attempts);

  const Behaviour& behaviour_;
  RandomChoice& random_;
  Report& report_;
  const Time& now_;
  const Upload upload_;
  JobMap jobs_;
  std::size_t running_count_ = 0;
  std::multimap<Time, Step> steps_;
};

}  // namespace remotist::bench
