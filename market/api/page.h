// Which page of a list a request asks for: ?page=2&per_page=50
#pragma once

#include <charconv>
#include <optional>
#include <string>

#include "core/limits.h"
#include "market/api/http.h"

namespace remotist::market {

struct Page {
  int number = 1;
  int rows = limits::kPageRowsDefault;
};

// Refuses what is not a whole number from 1 to `most`.
inline Result<int> count_of(const std::string& text, const char* field, int otherwise, int most) {
  if (text.empty()) return otherwise;
  int count = 0;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (fault == std::errc{} && stop == text.data() + text.size() && count >= 1 && count <= most) return count;
  return refuse(Code::invalid_field,
                std::string{field} + " must be a whole number from 1 to " + std::to_string(most), field);
}

inline Result<Page> page_of(const Request& request) {
  const auto number = count_of(request.http->getParameter("page"), "page", 1, limits::kPageNumberMax);
  if (!number) return number.refusal();
  const auto rows = count_of(request.http->getParameter("per_page"), "per_page", limits::kPageRowsDefault,
                             limits::kPageRowsMax);
  if (!rows) return rows.refusal();
  return Page{*number, *rows};
}

}  // namespace remotist::market
