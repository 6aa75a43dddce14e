#include "market/service/sweeper.h"

#include "core/log.h"
#include "core/threads.h"
#include "market/store/jobs.h"

namespace remotist::market {
namespace {

constexpr std::size_t kBatchMax = 1000;

}  // namespace

Sweeper::Sweeper(const std::string& database_url, std::chrono::milliseconds untouched,
                 std::function<void()> published)
    : db_(database_url), untouched_(untouched), published_(std::move(published)) {
  const SignalsBlocked blocked;
  thread_ = std::jthread{[this](std::stop_token stop) { run(std::move(stop)); }};
}

Sweeper::~Sweeper() = default;

void Sweeper::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    try {
      sweep_all();
    } catch (const std::exception& fault) {
      log::warn("sweep_fault", {{"what", fault.what()}});
    }
    // A job is found at the latest half as late again as it could have been.
    std::unique_lock lock{mutex_};
    wake_.wait_for(lock, stop, untouched_ / 2, [] { return false; });
  }
}

void Sweeper::sweep_all() {
  std::size_t swept = 0;
  do {
    swept = sweep_jobs(db_, untouched_, kBatchMax);
    if (swept > 0) {
      log::info("jobs_swept", {{"jobs", swept}});
      published_();
    }
  } while (swept == kBatchMax);
}

}  // namespace remotist::market
