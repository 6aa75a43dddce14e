#include "volunteer/agent/checkpoint_schedule.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/checkpoint_schedule.h"

namespace remotist::volunteer {
namespace {

using std::chrono::milliseconds;

// What a guest says about a duration may be any number.
double plausible_ms(double said, double most) {
  return std::isfinite(said) ? std::clamp(said, 0.0, most) : 0.0;
}

}  // namespace

CheckpointSchedule::CheckpointSchedule(std::int64_t loss_ms_mean, std::int64_t cpu_cores)
    : loss_ms_mean_(loss_ms_mean > 0 ? loss_ms_mean : milliseconds{kLossMean}.count()),
      cpu_cores_(std::max<std::int64_t>(cpu_cores, 1)) {}

void CheckpointSchedule::began(Time now) {
  if (is_impossible_) return;
  asks_ = true;
  ask_at_ = now + milliseconds{interval_ms()};
}

void CheckpointSchedule::impossible(std::string reason) {
  asks_ = false;
  is_impossible_ = true;
  refused_because_ = std::move(reason);
}

void CheckpointSchedule::taken(double pause_ms, double child_cpu_ms, Time now) {
  const auto most = static_cast<double>(loss_ms_mean_);
  // R waits during the pause. The process that writes competes with R for the job's cores.
  const double cost =
      plausible_ms(pause_ms, most) + plausible_ms(child_cpu_ms, most) / static_cast<double>(cpu_cores_);
  cost_ms_ = cost_ms_ ? (*cost_ms_ + cost) / 2 : cost;
  urgent_ = wants_full_ = was_asked_ = has_problem_ = false;
  problem_at_ = Time::max();
  refused_because_.clear();
  ask_at_ = now + milliseconds{interval_ms()};
}

std::int64_t CheckpointSchedule::interval_ms() const {
  return checkpoint_interval_ms(cost_ms_ ? std::optional{std::llround(*cost_ms_)} : std::nullopt,
                                loss_ms_mean_);
}

CheckpointSchedule::Request CheckpointSchedule::take_request(bool busy, Time now) {
  if (!asks_ || (!urgent_ && (busy || ask_at_ > now))) return Request::none;
  if (!std::exchange(was_asked_, true)) problem_at_ = now + kProblemAfter;
  urgent_ = false;
  ask_at_ = now + kAskAgain;
  return wants_full_ ? Request::full : Request::usual;
}

Time CheckpointSchedule::due(bool busy) const {
  if (!asks_) return Time::max();
  if (urgent_) return Time{};
  return std::min(busy ? Time::max() : ask_at_, problem_at_);
}

void CheckpointSchedule::wake(Time now) {
  if (problem_at_ > now) return;
  problem_at_ = Time::max();
  has_problem_ = true;
}

std::string CheckpointSchedule::problem() const {
  if (is_impossible_) return refused_because_;
  if (!asks_ || !has_problem_) return {};
  return refused_because_.empty() ? "the script has reached no point at which it can be saved"
                                  : refused_because_;
}

}  // namespace remotist::volunteer
