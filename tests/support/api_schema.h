// market/api/openapi.json, to compare with what the market does. The integration tests check every answer
// that Http receives in any test (api_schema.cc). Thread-safe.
#pragma once

#include <set>
#include <string>

#include "core/json.h"

namespace remotist::test {

// The whole document.
const nlohmann::json& api_document();

// The schema itself, or the one that it refers to.
const nlohmann::json& resolved(const nlohmann::json& schema);

// What `value` has that its schema does not say, or the other way round: "jobs[0].price is missing"; empty
// when it conforms. A field that the schema does not name is a mistake unless additionalProperties is true.
std::string mismatch(const nlohmann::json& value, const nlohmann::json& schema,
                     const std::string& where = {});

// The routes of which a successful answer was checked in this process: "GET /job/{id}".
std::set<std::string> routes_checked();

}  // namespace remotist::test
