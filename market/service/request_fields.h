// Parses what requests carry outside of their bodies: query parameters and headers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/job_state.h"
#include "core/result.h"
#include "market/service/encoding.h"
#include "market/store/caller.h"

namespace remotist::market {

// A whole number from 1 to `most`; `otherwise` when the text is empty.
Result<int> read_count(std::string_view text, const char* field, int otherwise, int most);

// The number of a record or of an event, from 0 on.
std::optional<std::int64_t> read_sequence(std::string_view text);

// None when the text is empty.
Result<std::optional<JobState>> read_job_state(std::string_view text);

// Remotist-Attempt: <job id> <attempt number> <attempt token>
Result<AttemptClaim> read_attempt_claim(std::string_view header);

// An Idempotency-Key.
Result<void> check_idempotency_key(std::string_view key);

// A text that the database compares: UTF-8 without zero bytes.
Result<void> check_query_text(std::string_view text, const char* field);

// Of Content-Encoding. unsupported_media_type unless it is empty, identity or zstd.
Result<Encoding> read_encoding(std::string_view content_encoding);

// Of Accept-Encoding, such as "br, zstd;q=0.5". Only a weight of zero excludes zstd.
bool takes_zstd(std::string_view accept_encoding);

// The ETag of a body, with its quotes.
std::string etag_of(std::string_view body);

// Of If-None-Match: "*" or a list of tags.
bool is_known_etag(std::string_view if_none_match, std::string_view tag);

// Of "Authorization: Bearer <token>"; empty when there is none.
std::string_view bearer_token_of(std::string_view authorization);

}  // namespace remotist::market
