// Bounds the bytes of large responses that wait to be read by clients, in the whole market and per address,
// so that slow readers cannot exhaust memory. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace remotist::market {

class AnswerBudget {
  struct Usage {
    std::mutex mutex;
    std::int64_t bytes = 0;
    std::map<std::string, std::int64_t> by_address;
  };

 public:
  AnswerBudget(std::int64_t bytes_max, std::int64_t bytes_max_per_address)
      : bytes_max_(bytes_max), bytes_max_per_address_(bytes_max_per_address) {}

  // A reserved part of the budget, returned by its destructor. It may outlive the budget, as connections do.
  class Part {
   public:
    Part(std::shared_ptr<Usage> usage, std::string address, std::int64_t bytes)
        : usage_(std::move(usage)), address_(std::move(address)), bytes_(bytes) {}
    ~Part() {
      const std::lock_guard lock{usage_->mutex};
      const auto found = usage_->by_address.find(address_);
      found->second -= bytes_;
      if (found->second == 0) usage_->by_address.erase(found);
      usage_->bytes -= bytes_;
    }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

   private:
    const std::shared_ptr<Usage> usage_;
    const std::string address_;
    const std::int64_t bytes_;
  };

  // Null when that would exceed the budget. The first response of an address, and of the market, may have any
  // size; the last quarter of the budget is for addresses that have none reserved. Requires bytes > 0.
  std::unique_ptr<Part> try_reserve(const std::string& address, std::int64_t bytes) {
    const std::lock_guard lock{usage_->mutex};
    const auto found = usage_->by_address.find(address);
    const std::int64_t its_own = found == usage_->by_address.end() ? 0 : found->second;
    if (its_own > 0 && its_own + bytes > bytes_max_per_address_) return nullptr;
    const auto most = its_own > 0 ? bytes_max_ - bytes_max_ / 4 : bytes_max_;
    if (usage_->bytes > 0 && usage_->bytes + bytes > most) return nullptr;
    usage_->by_address[address] = its_own + bytes;
    usage_->bytes += bytes;
    return std::make_unique<Part>(usage_, address, bytes);
  }

  std::int64_t reserved() const {
    const std::lock_guard lock{usage_->mutex};
    return usage_->bytes;
  }

 private:
  const std::int64_t bytes_max_;
  const std::int64_t bytes_max_per_address_;
  const std::shared_ptr<Usage> usage_ = std::make_shared<Usage>();
};

}  // namespace remotist::market
