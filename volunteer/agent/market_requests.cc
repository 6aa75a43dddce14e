#include "volunteer/agent/market_requests.h"

#include <algorithm>
#include <cstddef>

#include "core/limits.h"
#include "core/zstd.h"

namespace remotist::volunteer {

using nlohmann::json;

std::vector<std::string> AttemptCredentials::headers() const {
  return {"Authorization: Bearer " + machine_token, "Remotist-Attempt: " + attempt.name.job.text() + " " +
                                                        std::to_string(attempt.name.number) + " " +
                                                        attempt.token};
}

std::vector<std::string> AttemptCredentials::json_headers() const {
  auto all = headers();
  all.emplace_back("Content-Type: application/json");
  return all;
}

RestAnswer require_success(RestAnswer answer) {
  if (!answer.good()) throw TransferError{{answer.code(), answer.message()}};
  return answer;
}

json json_of_answer(const std::string& body) {
  auto document = json_if_any(body);
  if (!document) throw TransferError{{"damaged", "the market's answer is not JSON"}};
  return std::move(*document);
}

FetchedChunk fetch_chunk(Rest& rest, const AttemptCredentials& credentials, const ChunkName& name) {
  auto headers = credentials.headers();
  headers.emplace_back("Accept-Encoding: zstd");
  FetchedChunk chunk;
  chunk.frame =
      require_success(
          rest.call("GET", "/blob/" + name.hex() + "?job=" + credentials.attempt.name.job.text(), headers))
          .body;
  if (auto bytes = zstd_decompress(chunk.frame, limits::kChunkBytesMax)) {
    chunk.bytes = std::move(*bytes);
  } else {
    // A proxy may have removed the encoding.
    chunk.bytes = std::exchange(chunk.frame, {});
    if (chunk.bytes.size() <= limits::kChunkBytesMax) chunk.frame = zstd_compress(chunk.bytes, 1);
  }
  chunk.is_intact = ChunkName::of(chunk.bytes) == name;
  return chunk;
}

std::set<std::string> missing_chunks(Rest& rest, const AttemptCredentials& credentials,
                                     const std::vector<std::string>& names, std::string_view query) {
  std::set<std::string> missing;
  for (std::size_t at = 0; at < names.size(); at += limits::kChunksAskedMax) {
    const auto last = std::min(names.size(), at + limits::kChunksAskedMax);
    const json asked{{"chunks", std::vector<std::string>(names.begin() + static_cast<std::ptrdiff_t>(at),
                                                         names.begin() + static_cast<std::ptrdiff_t>(last))}};
    const auto answer = json_of_answer(require_success(rest.call("POST", "/blob/missing" + std::string{query},
                                                                 credentials.json_headers(), asked.dump()))
                                           .body);
    for (const auto& name : answer.at("missing")) missing.insert(name.get<std::string>());
  }
  return missing;
}

void put_chunk(Rest& rest, const AttemptCredentials& credentials, const std::string& name,
               std::string_view frame, std::string_view query) {
  auto headers = credentials.headers();
  headers.emplace_back("Content-Type: application/octet-stream");
  headers.emplace_back("Content-Encoding: zstd");
  require_success(rest.call("PUT", "/blob/" + name + std::string{query}, headers, frame));
}

}  // namespace remotist::volunteer
