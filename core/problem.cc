#include "core/problem.h"

#include <string>

#include "core/json.h"

namespace remotist {
namespace {

std::string text_of(const nlohmann::json& document, const char* key) {
  if (!document.is_object()) return {};
  const auto found = document.find(key);
  return found != document.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

}  // namespace

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

Refusal refusal_from(const nlohmann::json& document, int http_status) {
  if (const auto code = code_named(text_of(document, "code"))) {
    return Refusal{*code, text_of(document, "detail"), text_of(document, "field")};
  }
  std::string detail = text_of(document, "detail");
  if (detail.empty())
    detail = "the server answered HTTP " + std::to_string(http_status) + " without a reason";
  return Refusal{Code::internal, std::move(detail), {}};
}

}  // namespace remotist
