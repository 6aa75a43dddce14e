#include "bench/churn/simulation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "worker/matching/matching.h"

namespace remotist::churn {
namespace {

using EventNumber = std::uint64_t;  // from 1; 0 is none
constexpr worker::Amounts kOneCore{1, 1'024, 1'024};
constexpr Credits kPrice = Credits::micro(1);

struct Event {
  enum class Kind { machine_changes, segment_ends, attempt_times_out };
  Ms at;
  EventNumber number;
  Kind kind;
  std::size_t subject;  // a machine or a job
  // In the order of time, at the same time as they were planned.
  bool operator>(const Event& other) const {
    return std::pair{at, number} > std::pair{other.at, other.number};
  }
};

// An event counts only while its number stands with its subject: so are events cancelled.
struct MachineState {
  worker::Machine offer;
  bool works = true;
  std::optional<std::size_t> job;
  EventNumber change = 0;
};

struct JobState {
  worker::WaitingJob request;
  Ms submitted_at;
  Ms waits_since;
  std::size_t saved = 0;  // checkpoints on the way to where it is
  std::optional<std::size_t> machine;
  Ms beats_from = 0;  // a beat of its machine
  EventNumber segment = 0;
  EventNumber timeout = 0;
};

worker::Machine new_machine() {
  return {MachineSessionId::make(), MachineId::make(), kOneCore, kOneCore, kPrice, std::nullopt};
}

class Simulation {
 public:
  Simulation(const Scheme& scheme, const Failures& failures, Ms work_ms, const Size& size, std::uint64_t seed)
      : scheme_(scheme),
        failures_(failures),
        segments_(segments(scheme, work_ms)),
        size_(size),
        random_(seed) {
    while (machines_.size() < size.machines) machines_.push_back({.offer = new_machine(), .job = {}});
  }

  Turnaround run();

 private:
  EventNumber plan(Event::Kind kind, std::size_t subject, Ms after);
  void happen(const Event& event);
  double fraction() { return static_cast<double>((random_() >> 11) + 1) * 0x1p-53; }  // above 0, at most 1
  Ms until_change();

  void submit();
  void place();
  void begin_attempt(std::size_t job, std::size_t machine);
  void run_segment(std::size_t job);
  void restart_timeout(std::size_t job);
  void end_segment(std::size_t job);
  void end_attempt(std::size_t job);
  void complete(std::size_t job);
  void find_checkpoint(JobState& job);
  void fail(std::size_t machine);
  void recover(std::size_t machine);

  const Scheme scheme_;
  const Failures failures_;
  const std::vector<Ms> segments_;
  const Size size_;
  std::mt19937_64 random_;
  Ms now_ = 0;
  EventNumber events_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
  std::vector<MachineState> machines_;
  std::vector<JobState> jobs_;
  std::vector<std::size_t> waiting_;
  std::vector<double> turnarounds_ms_;
  std::size_t waits_ = 0;
};

EventNumber Simulation::plan(Event::Kind kind, std::size_t subject, Ms after) {
  queue_.push({now_ + after, ++events_, kind, subject});
  return events_;
}

// Geometric: at least one millisecond.
Ms Simulation::until_change() {
  return 1 + static_cast<Ms>(std::log(fraction()) / std::log1p(-1 / failures_.mean_ms));
}

void Simulation::submit() {
  waiting_.push_back(jobs_.size());
  jobs_.push_back({.request = {JobId::make(), AccountId::make(), kOneCore, Credits::micro(100), {}},
                   .submitted_at = now_,
                   .waits_since = now_,
                   .machine = {}});
}

void Simulation::place() {
  worker::Snapshot snapshot;
  std::vector<std::size_t> offered;
  for (std::size_t at = 0; at < machines_.size(); ++at) {
    if (!machines_[at].works || machines_[at].job) continue;
    snapshot.machines.push_back(machines_[at].offer);
    offered.push_back(at);
  }
  for (const auto job : waiting_) snapshot.jobs.push_back(jobs_[job].request);
  const auto placed = worker::match(snapshot).assignments;
  for (const auto& [job, machine] : placed) begin_attempt(waiting_[job], offered[machine]);
  std::erase_if(waiting_, [&](std::size_t job) { return jobs_[job].machine.has_value(); });
}

void Simulation::begin_attempt(std::size_t job, std::size_t machine) {
  JobState& state = jobs_[job];
  waits_ += state.waits_since != now_;
  state.machine = machine;
  machines_[machine].job = job;
  // A machine that is replaced when it fails need not fail while it is idle.
  if (!failures_.recover)
    machines_[machine].change = plan(Event::Kind::machine_changes, machine, until_change());
  find_checkpoint(state);
  restart_timeout(job);
  run_segment(job);
}

void Simulation::find_checkpoint(JobState& job) {
  const std::size_t older = job.saved - std::min(job.saved, scheme_.kept);
  std::size_t at = job.saved;
  while (at > older && fraction() > scheme_.availability) --at;
  job.saved = at > older ? at : 0;
}

void Simulation::run_segment(std::size_t job) {
  jobs_[job].segment = plan(Event::Kind::segment_ends, job, segments_[jobs_[job].saved]);
}

// At the beginning of an attempt, after each checkpoint, and when the machine is back.
void Simulation::restart_timeout(std::size_t job) {
  JobState& state = jobs_[job];
  if (scheme_.detection == Detection::lease) {
    state.timeout = 0;
    const Ms beat_ms = scheme_.timeout_ms / kBeatsInLease;
    state.beats_from = now_ - static_cast<Ms>(fraction() * static_cast<double>(beat_ms));
  } else {
    state.timeout = plan(Event::Kind::attempt_times_out, job, scheme_.timeout_ms);
  }
}

void Simulation::end_segment(std::size_t job) {
  JobState& state = jobs_[job];
  if (++state.saved == segments_.size()) {
    complete(job);
    return;
  }
  if (scheme_.detection == Detection::checkpoint_timeout) restart_timeout(job);
  run_segment(job);
}

void Simulation::complete(std::size_t job) {
  JobState& state = jobs_[job];
  state.timeout = state.segment = 0;
  machines_[*state.machine].job.reset();
  turnarounds_ms_.push_back(static_cast<double>(now_ - state.submitted_at));
  if (jobs_.size() < size_.jobs) submit();
}

void Simulation::end_attempt(std::size_t job) {
  JobState& state = jobs_[job];
  state.timeout = state.segment = 0;
  if (MachineState& machine = machines_[*state.machine]; machine.job == job) {
    machine.job.reset();
    if (machine.works) {
      state.request.excluded.push_back(machine.offer.machine);
    } else {
      machine.offer = new_machine();
    }
  }
  state.machine.reset();
  state.waits_since = now_;
  waiting_.push_back(job);
}

void Simulation::fail(std::size_t machine) {
  MachineState& state = machines_[machine];
  if (state.job) {
    JobState& job = jobs_[*state.job];
    job.segment = 0;
    if (scheme_.detection == Detection::lease) {
      const Ms since_beat = (now_ - job.beats_from) % (scheme_.timeout_ms / kBeatsInLease);
      job.timeout = plan(Event::Kind::attempt_times_out, *state.job, scheme_.timeout_ms - since_beat);
    }
  }
  if (failures_.recover) {
    state.works = false;
    state.change = plan(Event::Kind::machine_changes, machine, until_change());
  } else {
    state = {.offer = new_machine(), .job = {}};
  }
}

void Simulation::recover(std::size_t machine) {
  MachineState& state = machines_[machine];
  state.works = true;
  state.change = plan(Event::Kind::machine_changes, machine, until_change());
  if (!state.job) return;
  if (scheme_.detection == Detection::lease) {
    find_checkpoint(jobs_[*state.job]);
    restart_timeout(*state.job);
  }
  run_segment(*state.job);
}

void Simulation::happen(const Event& event) {
  const auto subject = event.subject;
  switch (event.kind) {
    case Event::Kind::machine_changes:
      if (machines_[subject].change != event.number) return;
      if (machines_[subject].works) {
        fail(subject);
      } else {
        recover(subject);
      }
      break;
    case Event::Kind::segment_ends:
      if (jobs_[subject].segment == event.number) end_segment(subject);
      break;
    case Event::Kind::attempt_times_out:
      if (jobs_[subject].timeout == event.number) end_attempt(subject);
      break;
  }
}

Turnaround Simulation::run() {
  if (failures_.recover) {
    for (std::size_t at = 0; at < machines_.size(); ++at) {
      machines_[at].change = plan(Event::Kind::machine_changes, at, until_change());
    }
  }
  while (jobs_.size() < std::min(size_.jobs, size_.at_once)) submit();
  place();
  while (turnarounds_ms_.size() < size_.jobs) {
    const Event event = queue_.top();
    queue_.pop();
    now_ = event.at;
    happen(event);
    if (!waiting_.empty()) place();
  }
  double sum = 0;
  for (const double each : turnarounds_ms_) sum += each;
  const auto count = static_cast<double>(turnarounds_ms_.size());
  double squares = 0;
  for (const double each : turnarounds_ms_) squares += (each - sum / count) * (each - sum / count);
  return {sum / count, std::sqrt(squares / (count - 1) / count), waits_};
}

}  // namespace

Turnaround simulate(const Scheme& scheme, const Failures& failures, Ms work_ms, const Size& size,
                    std::uint64_t seed) {
  return Simulation{scheme, failures, work_ms, size, seed}.run();
}

}  // namespace remotist::churn
