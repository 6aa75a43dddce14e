// The parameters $1 … $4 that identify the caller. Includes libpqxx; only for store/ sources.
#pragma once

#include <pqxx/pqxx>

#include "core/pg/statement.h"
#include "market/store/caller.h"

namespace remotist::market {

// token, job, attempt, attempt's token. `job` stands for the job of the request's path, if it has one; an
// attempt that names another job is never current. `caller` must outlive the statement.
inline pqxx::params caller_params(const UserOrAttempt& caller, std::optional<JobId> job = std::nullopt) {
  const auto& attempt = caller.attempt;
  const bool elsewhere = attempt && job && attempt->job != *job;
  pqxx::params params{pg::bytes_of(caller.token_hash)};
  if (!job && attempt) job = attempt->job;
  params.append(job ? std::optional{job->text()} : std::nullopt);
  params.append(attempt ? std::optional{elsewhere ? 0 : attempt->number} : std::nullopt);
  params.append(attempt ? std::optional{pg::bytes_of(attempt->token_hash)} : std::nullopt);
  return params;
}

// As SQL's bytea[] reads it.
inline std::vector<std::string> bytea_array(const std::vector<ChunkName>& chunks) {
  std::vector<std::string> texts;
  texts.reserve(chunks.size());
  for (const auto& chunk : chunks) texts.push_back("\\x" + chunk.hex());
  return texts;
}

}  // namespace remotist::market
