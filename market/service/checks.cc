#include "market/service/checks.h"

#include <string>

#include "core/utf8.h"

namespace remotist::market {

Result<void> check_range(std::string_view field, std::int64_t value, std::int64_t least, std::int64_t most,
                         std::string_view unit) {
  if (value >= least && value <= most) return {};
  return refuse(Code::invalid_field,
                std::string{field} + " is " + std::to_string(value) + " and must be from " +
                    std::to_string(least) + " to " + std::to_string(most) + " " + std::string{unit},
                std::string{field});
}

Result<void> check_name(std::string_view field, std::string_view name, std::size_t bytes_max) {
  if (!name.empty() && name.size() <= bytes_max && !has_control_characters(name)) return {};
  return refuse(Code::invalid_field,
                std::string{field} + " must have 1 to " + std::to_string(bytes_max) +
                    " bytes and no control characters",
                std::string{field});
}

}  // namespace remotist::market
