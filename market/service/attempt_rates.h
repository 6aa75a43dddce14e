// Rate limits of the watched records that attempts send over REST, the same as over the WebSocket.
// Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include "core/limits.h"
#include "core/protocol.h"
#include "core/token_bucket.h"

namespace remotist::market {

class AttemptRates {
 public:
  // Whether the attempt may send this much now; if so it is counted. Requires that the caller was
  // authenticated as the attempt, or others could use up its limit.
  [[nodiscard]] bool may_record(const protocol::AttemptName& attempt, std::size_t records, std::size_t bytes,
                                TokenBucket::Time now = TokenBucket::Clock::now()) {
    const std::lock_guard lock{mutex_};
    if (rates_.size() >= kForgetAt) {
      // A bucket that was not used for this long is full again.
      std::erase_if(rates_, [&](const auto& each) {
        return now - each.second.used_at > std::chrono::seconds{limits::kAttemptRecordsBurstSeconds};
      });
    }
    auto& rate = rates_.try_emplace(attempt, now).first->second;
    rate.used_at = now;
    const auto record_count = static_cast<double>(records);
    const auto byte_count = static_cast<double>(bytes);
    if (!rate.records.has(record_count, now) || !rate.bytes.has(byte_count, now)) return false;
    rate.records.charge(record_count, now);
    rate.bytes.charge(byte_count, now);
    return true;
  }

 private:
  static constexpr std::size_t kForgetAt = 1024;
  struct Rate {
    explicit Rate(TokenBucket::Time now)
        : records(limits::kAttemptRecordsPerSecondMax,
                  limits::kAttemptRecordsPerSecondMax * limits::kAttemptRecordsBurstSeconds, now),
          bytes(limits::kAttemptRecordBytesPerSecondMax,
                limits::kAttemptRecordBytesPerSecondMax * limits::kAttemptRecordsBurstSeconds, now),
          used_at(now) {}
    TokenBucket records;
    TokenBucket bytes;
    TokenBucket::Time used_at;
  };
  std::mutex mutex_;
  std::map<protocol::AttemptName, Rate> rates_;
};

}  // namespace remotist::market
