// The description of the market, carried in the binary: for programs (market/api/openapi.json), and the page
// that shows it to people (market/api/openapi.html). Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace remotist::market {

std::string_view openapi_document();
std::string_view openapi_page();

// The Content-Security-Policy of the page: its own script and style, by their hashes, and calls to the market
// that served it. Requires that the page has one <script> and one <style>; aborts otherwise.
const std::string& openapi_page_policy();

}  // namespace remotist::market
