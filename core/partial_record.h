// What a machine tells of a watched variable: that it changed, and to what. Records travel in the message
// `partials` of the volunteers' protocol and over REST; here is the form that both have.
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

enum class PartialKind : std::uint8_t {
  value,
  removed,  // the variable is gone
  problem,  // it has a value that cannot be shown
};
std::string_view name_of(PartialKind kind);
std::optional<PartialKind> partial_kind_named(std::string_view name);

struct PartialRecord {
  std::string variable;
  std::int64_t number;  // counts the variable's records in this attempt; one that came before changes nothing
  std::int64_t changes;  // that it stands for; 0: not known
  std::int64_t age_ms;   // how long ago it changed, when this was said
  PartialKind kind = PartialKind::value;
  std::string bytes{};                // a value as R's serialize() writes it, unless it is in chunks
  std::int64_t size = 0;              // of a value in chunks
  std::vector<std::string> chunks{};  // in order, by their names
  std::string words{};                // with problem: why
};

// Changes of two records that become one; not known when either is not. Requires that neither is above
// limits::kPartialCountMax, and is not above it either.
constexpr std::int64_t changes_together(std::int64_t one, std::int64_t other) {
  return one == 0 || other == 0 ? 0 : std::min(one + other, limits::kPartialCountMax);
}

// Reads an object's fields. What is wrong with them is noted in `mistake`, unless something is there already,
// or in the body itself. Over REST the variable is not among the fields.
PartialRecord partial_record_in(JsonBody& body, std::optional<Refusal>& mistake);
PartialRecord partial_record_in(JsonBody& body, std::string variable, std::optional<Refusal>& mistake);

nlohmann::json json_of(const PartialRecord& record);

}  // namespace remotist
