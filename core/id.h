// Ids are UUIDv7 (RFC 9562): they sort by creation time, so that new rows go to the same index pages. Each
// kind of thing has its own C++ type; on the wire and in SQL all are the usual 36 characters.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace remotist {

using UuidBytes = std::array<std::uint8_t, 16>;

// Milliseconds of the system clock, then 74 random bits from the kernel. Thread-safe. Aborts when getrandom()
// fails.
UuidBytes uuid_v7();
std::string uuid_text(const UuidBytes& bytes);
// Any UUID in the canonical form (8-4-4-4-12 hexadecimal digits, either case); nothing else.
std::optional<UuidBytes> uuid_parse(std::string_view text);

template <class Tag>
class Id {
 public:
  static Id make() { return Id{uuid_v7()}; }
  static std::optional<Id> parse(std::string_view text) {
    const auto bytes = uuid_parse(text);
    if (!bytes) return std::nullopt;
    return Id{*bytes};
  }

  std::string text() const { return uuid_text(bytes_); }
  auto operator<=>(const Id&) const = default;

 private:
  explicit Id(const UuidBytes& bytes) : bytes_(bytes) {}
  UuidBytes bytes_;
};

using AccountId = Id<struct AccountTag>;
using JobId = Id<struct JobTag>;
using MachineId = Id<struct MachineTag>;
using TransferId = Id<struct TransferTag>;
using RequestId = Id<struct RequestTag>;
using GenerationId = Id<struct GenerationTag>;
using MachineSessionId = Id<struct MachineSessionTag>;  // one connected life of a machine
using ConnectionId = Id<struct ConnectionTag>;
using MarketId = Id<struct MarketTag>;  // one running process

}  // namespace remotist
