#include "bench/agent_load/upload.h"

#include <string_view>

#include "bench/agent_load/output.h"
#include "core/chunk.h"
#include "core/json.h"
#include "core/limits.h"

namespace remotist::bench {

std::optional<std::string> upload_result(Rest& rest, const std::string& machine_token,
                                         const protocol::AttemptKey& attempt, std::size_t bytes) {
  const auto job = attempt.name.job.text();
  const std::string authorization = "Authorization: Bearer " + machine_token;
  const std::string proof =
      "Remotist-Attempt: " + job + " " + std::to_string(attempt.name.number) + " " + attempt.token;
  const auto result = result_of(attempt.name, bytes);
  auto names = nlohmann::json::array();
  for (std::size_t at = 0; at < result.size(); at += limits::kChunkBytesMax) {
    const auto chunk = std::string_view{result}.substr(at, limits::kChunkBytesMax);
    const auto name = ChunkName::of(chunk).hex();
    const auto answer = rest.call("PUT", "/blob/" + name,
                                  {authorization, proof, "Content-Type: application/octet-stream"}, chunk);
    if (!answer.good()) return answer.code();
    names.push_back(name);
  }
  const nlohmann::json file{{"path", kResultPath}, {"size", result.size()}, {"chunks", names}};
  const auto answer = rest.call("POST", "/job/" + job + "/output",
                                {authorization, proof, "Content-Type: application/json"}, file.dump());
  if (!answer.good()) return answer.code();
  return std::nullopt;
}

}  // namespace remotist::bench
