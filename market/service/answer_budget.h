// How many bytes of large answers wait to be read by clients: in the whole market, and by one address.
// Whoever reads slowly, or not at all, holds no more than that. Thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace remotist::market {

class AnswerBudget {
  struct Taken {
    std::mutex mutex;
    std::int64_t bytes = 0;
    std::map<std::string, std::int64_t> by_address;
  };

 public:
  AnswerBudget(std::int64_t bytes_max, std::int64_t bytes_max_per_address)
      : bytes_max_(bytes_max), bytes_max_per_address_(bytes_max_per_address) {}

  // A part of the budget, given back when it ends. It may outlive the budget: connections do.
  class Part {
   public:
    Part(std::shared_ptr<Taken> taken, std::string address, std::int64_t bytes)
        : taken_(std::move(taken)), address_(std::move(address)), bytes_(bytes) {}
    ~Part() {
      const std::lock_guard lock{taken_->mutex};
      const auto found = taken_->by_address.find(address_);
      found->second -= bytes_;
      if (found->second == 0) taken_->by_address.erase(found);
      taken_->bytes -= bytes_;
    }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

   private:
    const std::shared_ptr<Taken> taken_;
    const std::string address_;
    const std::int64_t bytes_;
  };

  // None when that would be too much. The first answer of an address, and of the market, may be of any size;
  // the last quarter of the whole is for addresses that hold nothing yet. Requires more than no bytes.
  std::unique_ptr<Part> try_take(const std::string& address, std::int64_t bytes) {
    const std::lock_guard lock{taken_->mutex};
    const auto found = taken_->by_address.find(address);
    const std::int64_t its_own = found == taken_->by_address.end() ? 0 : found->second;
    if (its_own > 0 && its_own + bytes > bytes_max_per_address_) return nullptr;
    const auto most = its_own > 0 ? bytes_max_ - bytes_max_ / 4 : bytes_max_;
    if (taken_->bytes > 0 && taken_->bytes + bytes > most) return nullptr;
    taken_->by_address[address] = its_own + bytes;
    taken_->bytes += bytes;
    return std::make_unique<Part>(taken_, address, bytes);
  }

  std::int64_t taken() const {
    const std::lock_guard lock{taken_->mutex};
    return taken_->bytes;
  }

 private:
  const std::int64_t bytes_max_;
  const std::int64_t bytes_max_per_address_;
  const std::shared_ptr<Taken> taken_ = std::make_shared<Taken>();
};

}  // namespace remotist::market
