#include "core/problem.h"

#include <string>

#include "core/json.h"

namespace remotist {
nlohmann::json problem_document(const Refusal& refusal, std::string_view request_id) {
  const CodeRow& row = row_of(refusal.code);
  nlohmann::json document{{"type", "urn:remotist:problem:" + std::string{row.name}},
                          {"title", row.title},
                          {"status", row.http_status},
                          {"detail", refusal.detail},
                          {"code", row.name},
                          {"retryable", row.retryable},
                          {"request_id", request_id}};
  if (!refusal.field.empty()) document["field"] = refusal.field;
  return document;
}

}  // namespace remotist
