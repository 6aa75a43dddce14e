#include "worker/consumer/reaper.h"

#include <algorithm>

#include "core/log.h"
#include "worker/store/reaping.h"

namespace remotist::worker {
namespace {

using namespace std::chrono_literals;

// A longer gap in the contact with the database may have affected the markets too.
constexpr auto kGapMax = 2s;

}  // namespace

Reaper::Reaper(const std::string& database_url, ReaperOptions options)
    : db_(database_url, {.by_index = true}), options_(options) {}

bool Reaper::may_reap(Clock::time_point now) {
  const auto gap = std::max<std::chrono::milliseconds>(kGapMax, 3 * options_.interval);
  if (!since_ || now - last_ > gap) {
    if (since_)
      log::warn("reaper_waits",
                {{"gap_ms", std::chrono::duration_cast<std::chrono::milliseconds>(now - last_).count()}});
    since_ = now;
  }
  return now - *since_ >= longest_lease(db_);
}

void Reaper::run_once() {
  const auto began = Clock::now();
  const bool reaps = may_reap(began);
  if (reaps) reap_sessions(db_);
  reap_unaccepted(db_, options_.accept_time);
  // A round handles a bounded number of each; the next one continues.
  end_evicted_sessions(db_);
  cancel_jobs_of_disabled(db_);
  expire_jobs(db_);
  if (reaps) reap_leaving(db_);
  if (reaps) settle_unanswered(db_);
  // Only a successful round counts as contact.
  last_ = Clock::now();
  clean_up(remove_abandoned);
  clean_up(empty_released_storages);
}

// A failed clean-up must not stop the other steps.
void Reaper::clean_up(std::size_t (*step)(pg::Connection&)) {
  try {
    step(db_);
    last_ = Clock::now();
  } catch (const std::exception& fault) {
    log::warn("cleanup_failed", {{"what", fault.what()}});
  }
}

}  // namespace remotist::worker
