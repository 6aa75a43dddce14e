#include "core/code.h"

#include <array>
#include <cstddef>

namespace remotist {
namespace {

constexpr bool kRetry = true;
constexpr bool kFinal = false;

constexpr std::array kTable{
    CodeRow{Code::malformed_request, "malformed_request", 400, kFinal, "The request could not be read"},
    CodeRow{Code::invalid_field, "invalid_field", 422, kFinal, "A field has a value that is not allowed"},
    CodeRow{Code::unauthenticated, "unauthenticated", 401, kFinal, "A valid token is needed"},
    CodeRow{Code::wrong_credentials, "wrong_credentials", 401, kFinal, "E-mail and password do not match"},
    CodeRow{Code::insufficient_credits, "insufficient_credits", 402, kFinal, "Not enough credits"},
    CodeRow{Code::forbidden, "forbidden", 403, kFinal, "This caller may not do that"},
    CodeRow{Code::not_found, "not_found", 404, kFinal, "There is no such thing"},
    CodeRow{Code::method_not_allowed, "method_not_allowed", 405, kFinal,
            "The path exists, the method does not"},
    CodeRow{Code::request_timeout, "request_timeout", 408, kRetry, "The request took too long to arrive"},
    CodeRow{Code::email_taken, "email_taken", 409, kFinal, "An account with this e-mail exists"},
    CodeRow{Code::wrong_state, "wrong_state", 409, kFinal, "Not possible in the present state"},
    CodeRow{Code::stale_attempt, "stale_attempt", 409, kFinal, "This attempt is no longer the current one"},
    CodeRow{Code::idempotency_mismatch, "idempotency_mismatch", 409, kFinal,
            "This Idempotency-Key was used for another request"},
    CodeRow{Code::chunks_missing, "chunks_missing", 409, kFinal, "Chunks of a file were not uploaded"},
    CodeRow{Code::too_large, "too_large", 413, kFinal, "The request is larger than the limit"},
    CodeRow{Code::unsupported_media_type, "unsupported_media_type", 415, kFinal,
            "The body is not of a kind that is read here"},
    CodeRow{Code::quota_exceeded, "quota_exceeded", 403, kFinal, "The account's quota is used up"},
    CodeRow{Code::rate_limited, "rate_limited", 429, kRetry, "Too many requests"},
    CodeRow{Code::internal, "internal", 500, kFinal, "The market failed"},
    CodeRow{Code::busy, "busy", 503, kRetry, "The market is busy"},
    CodeRow{Code::database_unavailable, "database_unavailable", 503, kRetry,
            "The database cannot be reached"},
    CodeRow{Code::commit_in_doubt, "commit_in_doubt", 503, kFinal, "It is not known whether this was done"},
};

constexpr bool rows_match_the_enumeration() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].code) != i) return false;
  }
  return kTable.size() == static_cast<std::size_t>(Code::commit_in_doubt) + 1;
}
static_assert(rows_match_the_enumeration());

}  // namespace

std::span<const CodeRow> code_table() {
  return kTable;
}

const CodeRow& row_of(Code code) {
  return kTable[static_cast<std::size_t>(code)];
}

std::optional<Code> code_named(std::string_view name) {
  for (const CodeRow& row : kTable) {
    if (row.name == name) return row.code;
  }
  return std::nullopt;
}

}  // namespace remotist
