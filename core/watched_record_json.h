// A watched record as a JSON object, in the message `watched_records` of the volunteers' protocol and over
// REST.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "core/result.h"
#include "core/watched_record.h"

namespace remotist {

class JsonBody;

// Reads an object's fields. The first mistake is stored in `mistake`, or in the body itself. Over REST the
// variable is not among the fields.
WatchedRecord watched_record_in(JsonBody& body, std::optional<Refusal>& mistake);
WatchedRecord watched_record_in(JsonBody& body, std::string variable, std::optional<Refusal>& mistake);

nlohmann::json json_of(const WatchedRecord& record);

}  // namespace remotist
