#include "market/service/request_fields.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "core/digest.h"
#include "core/limits.h"
#include "core/token.h"
#include "core/utf8.h"

namespace remotist::market {
namespace {

// The whole text as a number.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number = 0;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc{} || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Result<int> read_count(std::string_view text, const char* field, int otherwise, int most) {
  if (text.empty()) return otherwise;
  const auto count = number_of<int>(text);
  if (count && *count >= 1 && *count <= most) return *count;
  return refuse(Code::invalid_field,
                std::string{field} + " must be a whole number from 1 to " + std::to_string(most), field);
}

std::optional<std::int64_t> read_sequence(std::string_view text) {
  const auto sequence = number_of<std::int64_t>(text);
  return sequence && *sequence >= 0 ? sequence : std::nullopt;
}

Result<std::optional<JobState>> read_job_state(std::string_view text) {
  constexpr std::size_t kShownMax = 100;
  const auto state = job_state_named(text);
  if (state || text.empty()) return state;
  return refuse(Code::invalid_field, "there is no state '" + utf8_within(text, kShownMax) + "' of a job",
                "state");
}

Result<AttemptClaim> read_attempt_claim(std::string_view header) {
  const auto first = header.find(' ');
  const auto second = header.find(' ', first + 1);
  if (first != std::string_view::npos && second != std::string_view::npos) {
    const auto job = JobId::parse(header.substr(0, first));
    const auto number = number_of<int>(header.substr(first + 1, second - first - 1));
    const auto token = header.substr(second + 1);
    if (job && number && *number >= 1 && !token.empty() && !token.contains(' '))
      return AttemptClaim{*job, *number, token_hash(token)};
  }
  return refuse(Code::invalid_field, "Remotist-Attempt must be: <job id> <attempt number> <attempt token>",
                "Remotist-Attempt");
}

Result<void> check_idempotency_key(std::string_view key) {
  const bool printable = std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7f; });
  if (!key.empty() && printable && key.size() <= limits::kIdempotencyKeyBytesMax) return {};
  return refuse(Code::invalid_field,
                "an Idempotency-Key has at most " + std::to_string(limits::kIdempotencyKeyBytesMax) +
                    " printable ASCII characters, such as a UUID",
                "Idempotency-Key");
}

Result<void> check_query_text(std::string_view text, const char* field) {
  if (is_utf8(text) && !text.contains('\0')) return {};
  return refuse(Code::invalid_field, std::string{field} + " must be UTF-8 without zero bytes", field);
}

Result<Encoding> read_encoding(std::string_view content_encoding) {
  if (content_encoding.empty() || content_encoding == "identity") return Encoding::plain;
  if (content_encoding == "zstd") return Encoding::zstd;
  return refuse(Code::unsupported_media_type, "a chunk comes plain or with Content-Encoding: zstd");
}

bool takes_zstd(std::string_view accept_encoding) {
  while (!accept_encoding.empty()) {
    const auto comma = accept_encoding.find(',');
    auto part = accept_encoding.substr(0, comma);
    accept_encoding.remove_prefix(comma == std::string_view::npos ? accept_encoding.size() : comma + 1);
    while (part.starts_with(' ')) part.remove_prefix(1);
    if (!part.starts_with("zstd")) continue;
    part.remove_prefix(4);
    if (!part.empty() && !part.starts_with(' ') && !part.starts_with(';')) continue;
    const auto weight = part.find("q=0");
    return weight == std::string_view::npos ||
           part.find_first_of("123456789", weight) != std::string_view::npos;
  }
  return false;
}

std::string etag_of(std::string_view body) {
  constexpr std::size_t kDigits = 32;
  return '"' + hex_of(sha256(body)).substr(0, kDigits) + '"';
}

bool is_known_etag(std::string_view if_none_match, std::string_view tag) {
  // No character of a tag could make it a part of another.
  return if_none_match == "*" || if_none_match.contains(tag);
}

std::string_view bearer_token_of(std::string_view authorization) {
  constexpr std::string_view kScheme = "Bearer ";
  return authorization.starts_with(kScheme) ? authorization.substr(kScheme.size()) : std::string_view{};
}

}  // namespace remotist::market
