// The named queries and numbered migrations that the build generates from sql/.
#pragma once

#include <cstddef>
#include <string_view>

namespace remotist::pg {

struct Query {
  std::size_t index;  // position in sql::kAllQueries
  std::string_view name;
  std::string_view text;
};

struct Migration {
  int number;  // 1, 2, 3 … without gaps
  std::string_view name;
  std::string_view text;
};

}  // namespace remotist::pg
