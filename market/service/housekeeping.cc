#include "market/service/housekeeping.h"

#include "core/log.h"
#include "market/store/jobs.h"

namespace remotist::market {
namespace {

constexpr std::size_t kBatchMax = 1000;

}  // namespace

void sweep_all_jobs(pg::Session& db, std::chrono::milliseconds untouched,
                    const std::function<void()>& published) {
  std::size_t swept = 0;
  do {
    swept = sweep_jobs(db, untouched, kBatchMax);
    if (swept > 0) {
      log::info("jobs_swept", {{"jobs", swept}});
      published();
    }
  } while (swept == kBatchMax);
}

}  // namespace remotist::market
