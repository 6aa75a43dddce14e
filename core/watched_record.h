// A watched record: one observed change of a watched variable. Records are sent in the message
// `watched_records` of the volunteers' protocol and over REST; both use this form.
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/limits.h"
#include "core/result.h"

namespace remotist {

class JsonBody;

enum class WatchedKind : std::uint8_t {
  value,
  removed,  // the variable is gone
  problem,  // it has a value that cannot be shown
};
std::string_view name_of(WatchedKind kind);
std::optional<WatchedKind> watched_kind_named(std::string_view name);

struct WatchedRecord {
  std::string variable;
  std::int64_t number;   // of the variable's record in this attempt; a repeated number is ignored
  std::int64_t changes;  // that this record stands for; 0: unknown
  std::int64_t age_ms;   // how long ago it changed, when the message was sent
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

// Reads an object's fields. The first mistake is stored in `mistake`, or in the body itself. Over REST the
// variable is not among the fields.
WatchedRecord watched_record_in(JsonBody& body, std::optional<Refusal>& mistake);
WatchedRecord watched_record_in(JsonBody& body, std::string variable, std::optional<Refusal>& mistake);

nlohmann::json json_of(const WatchedRecord& record);

}  // namespace remotist
