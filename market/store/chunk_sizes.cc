#include "market/store/chunk_sizes.h"

#include "core/pg/statement.h"
#include "market/store/caller_params.h"
#include "sql_queries.h"

namespace remotist::market {

std::map<std::string, std::int64_t, std::less<>> chunk_sizes(pg::Connection& db, const std::string& storage,
                                                             const std::vector<ChunkName>& chunks) {
  std::map<std::string, std::int64_t, std::less<>> sizes;
  const auto look = [&](const pg::Query& query, const std::vector<ChunkName>& which) {
    if (which.empty()) return;
    for (const auto& row : pg::write(db, query, pqxx::params{storage, bytea_array(which)}))
      sizes.emplace(row["sha256"].as<std::string>(), row["size_bytes"].as<std::int64_t>());
  };
  look(sql::storage_chunks, chunks);
  std::vector<ChunkName> others;
  for (const auto& chunk : chunks) {
    if (!sizes.contains(chunk.hex())) others.push_back(chunk);
  }
  look(sql::attempt_chunks_named, others);
  return sizes;
}

void name_chunks(pg::Connection& db, const std::string& storage, const std::vector<ChunkName>& chunks,
                 bool perhaps) {
  if (chunks.empty()) return;
  pg::write(db, sql::attempt_chunks_name, pqxx::params{storage, bytea_array(chunks), perhaps});
}

}  // namespace remotist::market
