// Jobs as JSON.
#pragma once

#include <optional>

#include "core/json.h"
#include "market/api/http.h"
#include "market/api/page.h"
#include "market/store/jobs.h"

namespace remotist::market {

template <class T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

nlohmann::json document_of(const Job& job);
// Without what may be long: partial_results_vars, failure_detail and progress_message.
nlohmann::json document_of(const JobPage& listed, const Page& page);

// ?state=queued; empty: any.
Result<std::optional<JobState>> state_asked_for(const Request& request);

}  // namespace remotist::market
