// A watched record: one observed change of a watched variable, from the guest that observes it to the
// market's database. Between agent and market and over REST it is a JSON object: core/watched_record_json.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/limits.h"

namespace remotist {

enum class WatchedKind : std::uint8_t {
  value,
  removed,  // the variable is gone
  problem,  // it has a value that cannot be shown
};
std::span<const WatchedKind> watched_kinds();  // all, in the order of the enumeration
std::string_view name_of(WatchedKind kind);
std::optional<WatchedKind> watched_kind_named(std::string_view name);

struct WatchedRecord {
  std::string variable{};   // the name; empty where the record is in a GuestRecord
  std::int64_t number = 0;  // from 1, of the variable's records in this attempt; a repeated number is ignored
  std::int64_t changes = 0;  // that this record stands for; 0: unknown
  std::int64_t age_ms = 0;   // how long ago it changed, when the message was sent
  WatchedKind kind = WatchedKind::value;
  std::string bytes{};                // a value as R's serialize() writes it, unless it is in chunks
  std::int64_t size = 0;              // of a value in chunks
  std::vector<std::string> chunks{};  // in order, by their names
  std::string words{};                // with problem: why
};

// The changes of two records that are merged; unknown (0) when either is. Requires that neither is above
// limits::kRecordCountMax; nor is the result.
constexpr std::int64_t changes_together(std::int64_t one, std::int64_t other) {
  return one == 0 || other == 0 ? 0 : std::min(one + other, limits::kRecordCountMax);
}

}  // namespace remotist
