#include "market/api/attempt.h"

#include <charconv>

#include "market/service/accounts.h"

namespace remotist::market {
namespace {

std::optional<int> number_of(std::string_view text) {
  int number = 0;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc{} || stop != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

std::optional<AttemptClaim> claim_of(std::string_view header) {
  const auto first = header.find(' ');
  const auto second = header.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const auto job = JobId::parse(header.substr(0, first));
  const auto number = number_of(header.substr(first + 1, second - first - 1));
  const auto token = header.substr(second + 1);
  if (!job || !number || token.empty() || token.contains(' ')) return std::nullopt;
  return AttemptClaim{*job, *number, token_hash(token)};
}

}  // namespace

Result<UserOrAttempt> user_or_attempt_of(const Request& request) {
  UserOrAttempt caller{request.token_hash};
  const std::string& header = request.http->getHeader("remotist-attempt");
  if (header.empty()) return caller;
  caller.attempt = claim_of(header);
  if (!caller.attempt) {
    return refuse(Code::invalid_field, "Remotist-Attempt must be: <job id> <attempt number> <attempt token>",
                  "Remotist-Attempt");
  }
  return caller;
}

Result<JobId> job_id_of(const Request& request) {
  const auto id = JobId::parse(request.path_values.at(0));
  if (!id) return refuse(Code::not_found, "a job's id is a UUID");
  return *id;
}

}  // namespace remotist::market
