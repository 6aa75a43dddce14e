#include "market/api/attempt.h"

#include <utility>

#include "market/service/request_fields.h"

namespace remotist::market {
Result<UserOrAttempt> user_or_attempt_of(const Request& request) {
  UserOrAttempt caller{request.token_hash};
  const std::string& header = request.http->getHeader("remotist-attempt");
  if (header.empty()) return caller;
  auto claim = read_attempt_claim(header);
  if (!claim) return claim.refusal();
  caller.attempt = *std::move(claim);
  return caller;
}

Result<JobId> job_id_of(const Request& request) {
  const auto id = JobId::parse(request.path_values.at(0));
  if (!id) return refuse(Code::not_found, "a job's id is a UUID");
  return *id;
}

}  // namespace remotist::market
