// Which page of a list a request asks for: ?page=2&per_page=50
#pragma once

#include "core/limits.h"
#include "market/api/http.h"
#include "market/service/request_fields.h"

namespace remotist::market {

struct Page {
  int number = 1;
  int rows = limits::kPageRowsDefault;
};

inline Result<Page> page_of(const Request& request) {
  const auto number = read_count(request.http->getParameter("page"), "page", 1, limits::kPageNumberMax);
  if (!number) return number.refusal();
  const auto rows = read_count(request.http->getParameter("per_page"), "per_page", limits::kPageRowsDefault,
                               limits::kPageRowsMax);
  if (!rows) return rows.refusal();
  return Page{*number, *rows};
}

}  // namespace remotist::market
