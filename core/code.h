// The closed table of refusals: everything RemotIST may answer that a caller can act on.
//
// A code is the same word in JSON ("code"), in logs (code=), in the R condition class ("remotist_" + code)
// and here. Adding one means an enumerator here, a row in code.cc and in docs/errors.md, and a word
// in the list of codes in market/api/openapi.json.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace remotist {

enum class Code : std::uint8_t {
  malformed_request,
  invalid_field,
  unauthenticated,
  wrong_credentials,
  insufficient_credits,
  forbidden,
  not_found,
  method_not_allowed,
  request_timeout,
  email_taken,
  wrong_state,
  stale_attempt,
  idempotency_mismatch,
  chunks_missing,
  too_large,
  unsupported_media_type,
  quota_exceeded,
  rate_limited,
  internal,
  busy,
  database_unavailable,
  commit_in_doubt,
};

struct CodeRow {
  Code code;
  std::string_view name;  // stable: clients compare it
  int http_status;
  bool retryable;          // the same request, unchanged, may succeed later
  std::string_view title;  // one short sentence, the same for every occurrence (RFC 9457 "title")
};

// All rows, in the order of the enumeration.
std::span<const CodeRow> code_table();

const CodeRow& row_of(Code code);
std::optional<Code> code_named(std::string_view name);

}  // namespace remotist
