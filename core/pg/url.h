// Database URLs (postgresql://… or libpq's keyword=value form), read by libpq itself.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/result.h"

namespace remotist::pg {

// Refuses what libpq cannot read. The refusal repeats no part of the URL: a password may stand anywhere in
// it.
Result<void> check_url(const std::string& url);

// Requires check_url().
bool has_password(const std::string& url);

// The setting <prefix>DATABASE_URL as an operator gave it: adds what is wrong with it to `mistakes`. A
// password belongs into the file that <prefix>DATABASE_URL_FILE names.
void check_setting(const std::string& prefix, const std::string& url, bool from_file,
                   std::vector<std::string>& mistakes);

// The same connection in keyword form with `settings` added; they win over the URL's own. Requires
// check_url(); throws std::invalid_argument otherwise.
std::string with_settings(const std::string& url,
                          const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace remotist::pg
