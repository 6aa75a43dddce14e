// How many records of watched variables each attempt brings over REST, by the same limits as over the socket.
// Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include "core/limits.h"
#include "core/protocol.h"
#include "market/service/allowance.h"

namespace remotist::market {

class AttemptRates {
 public:
  // Whether it may bring so much now; it counts then. Requires that the attempt was found current: whoever
  // else could use up its allowance.
  [[nodiscard]] bool may_record(const protocol::AttemptName& attempt, std::size_t records, std::size_t bytes,
                                Allowance::Time now = Allowance::Clock::now()) {
    const std::lock_guard lock{mutex_};
    if (rates_.size() >= kForgetAt) {
      // Whoever has said nothing for so long has all of its allowance again.
      std::erase_if(rates_, [&](const auto& each) {
        return now - each.second.used_at > std::chrono::seconds{limits::kPartialsBurstSeconds};
      });
    }
    auto& rate = rates_.try_emplace(attempt, now).first->second;
    rate.used_at = now;
    if (!rate.records.has(records, now) || !rate.bytes.has(bytes, now)) return false;
    rate.records.take(records);
    rate.bytes.take(bytes);
    return true;
  }

 private:
  static constexpr std::size_t kForgetAt = 1024;
  struct Rate {
    explicit Rate(Allowance::Time now)
        : records(limits::kPartialsPerSecondMax, limits::kPartialsBurstSeconds, now),
          bytes(limits::kPartialBytesPerSecondMax, limits::kPartialsBurstSeconds, now),
          used_at(now) {}
    Allowance records;
    Allowance bytes;
    Allowance::Time used_at;
  };
  std::mutex mutex_;
  std::map<protocol::AttemptName, Rate> rates_;
};

}  // namespace remotist::market
