// Builds array parameters for statements that unnest() several arrays in parallel. For store/ sources.
#pragma once

#include <functional>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "core/digest.h"

namespace remotist::pg {

// uuid[] of the ids that `id_of` finds in each item.
template <std::ranges::range Items, class IdOf = std::identity>
std::vector<std::string> uuid_array(const Items& items, IdOf id_of = {}) {
  std::vector<std::string> texts;
  for (const auto& item : items) texts.push_back(std::invoke(id_of, item).text());
  return texts;
}

template <class Value>
inline constexpr bool kMayBeNull = false;
template <class Value>
inline constexpr bool kMayBeNull<std::optional<Value>> = true;

// What `value_of` finds in each item. Never null: libpqxx 7.10 allocates too little for an array with
// nulls and writes past the end. Statements use a value that cannot occur instead (nullif).
template <std::ranges::range Items, class ValueOf>
auto array_of(const Items& items, ValueOf value_of) {
  using Value = std::decay_t<std::invoke_result_t<ValueOf, std::ranges::range_reference_t<const Items>>>;
  static_assert(!kMayBeNull<Value>);
  std::vector<Value> values;
  for (const auto& item : items) values.push_back(std::invoke(value_of, item));
  return values;
}

// One element of a bytea[].
inline std::string bytea_text(std::string_view bytes) {
  return "\\x" + hex_of(bytes);
}

}  // namespace remotist::pg
