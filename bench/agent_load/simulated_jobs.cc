#include "bench/agent_load/simulated_jobs.h"

#include <algorithm>
#include <utility>

#include "bench/agent_load/output.h"

namespace remotist::bench {
namespace {

using protocol::AttemptKey;
using protocol::AttemptName;
using std::chrono::milliseconds;
using volunteer::Ending;
using volunteer::Limit;

constexpr std::int64_t kAbsurdCpuMs = 999'999'999'999;  // thirty years

}  // namespace

SimulatedJobs::SimulatedJobs(const Behaviour& behaviour, RandomChoice& random, Report& report,
                             const Time& now, Upload upload)
    : behaviour_(behaviour), random_(random), report_(report), now_(now), upload_(std::move(upload)) {}

// --- AttemptActions

bool SimulatedJobs::has_room(std::size_t) {
  return !random_.happens(behaviour_.refuse);
}

void SimulatedJobs::fetch(const protocol::Assignment& assignment,
                          const std::vector<volunteer::SkippedCheckpoint>&) {
  const auto& [name, token] = assignment.attempt;
  jobs_.insert_or_assign(name, Job{.token = token, .cpu_ms_max = assignment.cpu_ms_max});
  steps_.emplace(now_, [this, name](Attempts& attempts) { fetched(name, attempts); });
}

void SimulatedJobs::run(const protocol::Assignment& assignment) {
  const auto& name = assignment.attempt.name;
  auto& job = jobs_.at(name);
  auto run_ms = random_.between(behaviour_.job_ms, behaviour_.job_ms_max);
  job.price_used_up = job.cpu_ms_max && run_ms > *job.cpu_ms_max;
  if (job.price_used_up) run_ms = *job.cpu_ms_max;
  job.running = true;
  ++running_count_;
  job.began = now_;
  job.ends = now_ + milliseconds{run_ms};
  steps_.emplace(job.ends, [this, name](Attempts& attempts) { run_ended(name, attempts); });
}

void SimulatedJobs::deliver(const AttemptKey& attempt, const Verdict& verdict) {
  const bool completed = verdict.ending == Ending::completed;
  if (completed && behaviour_.uploads()) return upload_(attempt);
  steps_.emplace(
      now_ + milliseconds{behaviour_.delay_outcome_ms},
      [this, name = attempt.name, completed](Attempts& attempts) { delivered(name, completed, attempts); });
}

void SimulatedJobs::drop(const AttemptName& attempt) {
  const auto entry = jobs_.find(attempt);
  if (entry == jobs_.end()) return;
  if (entry->second.running) --running_count_;
  jobs_.erase(entry);
}

std::int64_t SimulatedJobs::cpu_ms(const AttemptName& attempt) const {
  const auto entry = jobs_.find(attempt);
  if (entry == jobs_.end()) return 0;
  const auto elapsed = std::chrono::duration_cast<milliseconds>(now_ - entry->second.began).count();
  return std::min(std::max<std::int64_t>(elapsed, 1), entry->second.cpu_ms_max.value_or(INT64_MAX));
}

void SimulatedJobs::stop_run(const AttemptName& attempt) {
  const auto entry = jobs_.find(attempt);
  if (entry == jobs_.end() || !entry->second.running) return;
  entry->second.running = false;
  --running_count_;
}

void SimulatedJobs::send_note(const AttemptKey& attempt, const volunteer::CheckpointNote&) {
  steps_.emplace(now_,
                 [this, name = attempt.name](Attempts& attempts) { attempts.on_note_sent(name, {}, now_); });
}

void SimulatedJobs::report_resume(const AttemptKey& attempt, const volunteer::ResumeReport&) {
  steps_.emplace(
      now_, [this, name = attempt.name](Attempts& attempts) { attempts.on_resume_reported(name, {}, now_); });
}

// Simulated jobs have no watched variables that change.
void SimulatedJobs::upload(const AttemptKey&, const LargeValue&) {}
void SimulatedJobs::discard(const AttemptName&, const std::string&) {}

// --- what they lead to

void SimulatedJobs::fetched(const AttemptName& name, Attempts& attempts) {
  if (random_.happens(behaviour_.lose)) {
    ++report_.lost;
    return attempts.remove(name);
  }
  attempts.on_fetched(name, {}, now_);
}

void SimulatedJobs::run_ended(const AttemptName& name, Attempts& attempts) {
  const auto entry = jobs_.find(name);
  if (entry == jobs_.end() || !entry->second.running || entry->second.ends > now_) return;
  auto verdict = verdict_on(*entry);
  entry->second.running = false;
  --running_count_;
  if (random_.happens(behaviour_.lie)) lie(*entry, verdict, attempts);
  attempts.on_run_ended(name, std::move(verdict), now_);
}

Verdict SimulatedJobs::verdict_on(const JobMap::value_type& entry) {
  const auto& [name, job] = entry;
  Verdict verdict{.ending = Ending::completed, .cpu_ms = cpu_ms(name)};
  if (job.price_used_up) {
    verdict.ending = Ending::limit;
    verdict.limit = Limit::cpu;
    verdict.message = "the job's price is used up";
  } else if (random_.happens(behaviour_.fail)) {
    verdict.ending = Ending::r_error;
    verdict.message = "Error: agent_load was told to fail";
  } else if (random_.happens(behaviour_.handback / (1 - behaviour_.fail))) {
    verdict.ending = Ending::sandbox_failure;
  }
  return verdict;
}

void SimulatedJobs::lie(JobMap::value_type& entry, Verdict& verdict, Attempts& attempts) {
  auto& [name, job] = entry;
  ++report_.lies;
  job.lie = static_cast<Lie>(random_.between(1, 4));
  if (job.lie == Lie::absurd_cpu) verdict.cpu_ms = kAbsurdCpuMs;
  if (job.lie != Lie::wrong_token && job.lie != Lie::wrong_attempt) return;
  AttemptKey key{name, job.token};
  if (job.lie == Lie::wrong_token) std::ranges::reverse(key.token);
  if (job.lie == Lie::wrong_attempt) ++key.name.number;
  const std::string words = "a lie about " + name.job.text() + " " + std::to_string(name.number) + "\n";
  attempts.queue_no_reply({.attempt = std::move(key),
                           .kind = AttemptOutcome::completed,
                           .cpu_ms = verdict.cpu_ms,
                           .files = {{"output", kResultPath, words}}});
}

void SimulatedJobs::delivered(const AttemptName& name, bool completed, Attempts& attempts) {
  std::vector<protocol::OutcomeFile> files;
  if (completed && behaviour_.result_bytes > 0)
    files.push_back({"output", kResultPath, result_of(name, behaviour_.result_bytes)});
  attempts.on_delivered(name, {}, std::move(files), now_);
}

void SimulatedJobs::uploaded(const AttemptName& name, const std::optional<std::string>& code) {
  if (code) {
    ++report_.problems[*code];
  } else {
    ++report_.uploads;
  }
  TransferFault fault{code.value_or(""), code ? "the result was not stored" : ""};
  steps_.emplace(now_ + milliseconds{code ? 0 : behaviour_.delay_outcome_ms},
                 [this, name, fault = std::move(fault)](Attempts& attempts) {
                   attempts.on_delivered(name, fault, {}, now_);
                 });
}

void SimulatedJobs::outcome_sent(const protocol::Outcome& outcome) {
  const auto entry = jobs_.find(outcome.attempt.name);
  if (entry == jobs_.end()) return;
  auto& job = entry->second;
  job.outcome = outcome.kind;
  if (std::exchange(job.lie, Lie::none) != Lie::twice) return;
  steps_.emplace(now_, [outcome](Attempts& attempts) { attempts.queue_no_reply(outcome); });
}

std::optional<AttemptOutcome> SimulatedJobs::outcome_of(const AttemptName& attempt) const {
  const auto entry = jobs_.find(attempt);
  return entry == jobs_.end() ? std::nullopt : entry->second.outcome;
}

bool SimulatedJobs::report_to(Attempts& attempts) {
  bool reported = false;
  while (due() <= now_) {
    auto step = steps_.extract(steps_.begin());
    step.mapped()(attempts);
    reported = true;
  }
  return reported;
}

Time SimulatedJobs::due() const {
  return steps_.empty() ? Time::max() : steps_.begin()->first;
}

}  // namespace remotist::bench
