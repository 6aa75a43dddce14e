// For tests: a market that keeps chunks and one job's checkpoints, over REST, and files of checkpoints.
#pragma once

#include <atomic>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/chunk.h"
#include "core/json.h"
#include "core/zstd.h"
#include "volunteer/agent/checkpoint_transfer.h"
#include "volunteer/agent/scratch_folder.h"
#include "volunteer/agent/scripted_market.h"
#include "volunteer/sandbox/checkpoint_file.h"

namespace remotist::volunteer {

// A file with these contents, of which those at `left_out` have no frame.
inline void write_checkpoint(const std::filesystem::path& file, const std::vector<std::string>& contents,
                             std::size_t left_out = SIZE_MAX) {
  const Descriptor opened{::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600)};
  CheckpointFileWriter writer{opened.get()};
  for (std::size_t i = 0; i < contents.size(); ++i)
    writer.add(name_of_chunk(contents[i]), contents[i].size(),
               i == left_out ? std::string{} : zstd_compress(contents[i], 1));
  REQUIRE(writer.finish(encode(CheckpointManifest{.r_version = "4.5.0",
                                                  .architecture = "x86_64",
                                                  .packages = {"MASS 7.3-65"},
                                                  .state_bytes = 1,
                                                  .file = "main.R",
                                                  .line = 12,
                                                  .call = "fit"})));
}

class CheckpointMarket {
 public:
  using Answer = ScriptedMarket::Answer;

  // For the tests' own use while no request is on its way.
  std::map<std::string, std::string> chunks;  // contents by name
  std::vector<nlohmann::json> recorded;       // bodies; number n has sequence n + 1
  std::map<std::string, nlohmann::json> posted;
  std::atomic<std::size_t> dies_after = SIZE_MAX;  // requests; then it answers none
  std::map<std::string, Answer> instead;           // by the beginning of the request

  CheckpointMarket() = default;
  RestAnswer call(const char* method, const std::string& path) { return rest->call(method, path, {}); }

  CheckpointUpload upload(const std::filesystem::path& file) {
    return upload_checkpoint(*rest, credentials, {.number = 1, .file = file}, pace, control, stopping);
  }
  RecordedCheckpoint record(const CheckpointRecord& what) {
    return record_checkpoint(*rest, credentials, what);
  }
  FetchedCheckpoint fetch(const GuestSpec& guest, std::vector<SkippedCheckpoint> skipped = {},
                          const MachineSoftware& machine = {}) {
    return fetch_checkpoint(*rest, credentials, machine, guest, std::move(skipped));
  }
  std::size_t count(std::string_view begin) { return server.count(begin); }

  const std::atomic<bool> stopping{false};
  AttemptCredentials credentials{"machine", {{JobId::make(), 2}, "attempt"}};
  UploadPace pace{1e9};
  UploadControl control;

 private:
  static Answer refused(int status, const std::string& code) {
    return {status, nlohmann::json{{"code", code}, {"detail", "said the market"}}.dump()};
  }
  std::optional<Answer> answer(const std::string& request, const std::string& body) {
    if (dies_after == 0) return std::nullopt;
    if (dies_after != SIZE_MAX) --dies_after;
    for (const auto& [begin, said] : instead)
      if (request.starts_with(begin)) return said;
    const auto job = "/job/" + credentials.attempt.name.job.text();
    if (request == "POST /blob/missing?for=checkpoint") return missing_of(nlohmann::json::parse(body));
    if (request.starts_with("PUT /blob/")) return put(request.substr(10, 64), body);
    if (request.starts_with("GET /blob/")) return get(request.substr(10, 64));
    if (request == "POST " + job + "/checkpoint") return add(nlohmann::json::parse(body));
    if (request == "GET " + job + "/checkpoint") return list();
    if (request.starts_with("GET " + job + "/checkpoint/"))
      return one(request.substr(request.rfind('/') + 1));
    if (request.starts_with("POST " + job)) {
      posted[request.substr(5 + job.size())] = nlohmann::json::parse(body);
      return Answer{};
    }
    return refused(404, "not_found");
  }
  Answer missing_of(const nlohmann::json& asked) {
    auto missing = nlohmann::json::array();
    for (const auto& name : asked.at("chunks"))
      if (!chunks.contains(name.get<std::string>())) missing.push_back(name);
    return {200, nlohmann::json{{"missing", missing}}.dump()};
  }
  Answer put(const std::string& name, const std::string& frame) {
    const auto bytes = zstd_decompress(frame, limits::kChunkBytesMax);
    if (!bytes || ChunkName::of(*bytes).hex() != name) return refused(400, "invalid_field");
    chunks[name] = *bytes;
    return {};
  }
  Answer get(const std::string& name) {
    const auto found = chunks.find(name);
    if (found == chunks.end()) return refused(404, "not_found");
    return {200, zstd_compress(found->second), "application/octet-stream"};
  }
  Answer add(nlohmann::json body) {
    for (const auto& name : body.at("chunks"))
      if (!chunks.contains(name.get<std::string>())) return refused(409, "chunks_missing");
    recorded.push_back(std::move(body));
    return {201, nlohmann::json{{"sequence", recorded.size()}}.dump()};
  }
  Answer list() {
    auto rows = nlohmann::json::array();
    for (std::size_t i = recorded.size(); i > 0; --i) {
      auto row = recorded[i - 1];
      row["sequence"] = i;
      row.erase("chunks");
      rows.push_back(std::move(row));
    }
    return {200, nlohmann::json{{"checkpoints", rows}, {"more", false}}.dump()};
  }
  Answer one(const std::string& sequence) {
    const auto index = std::stoul(sequence) - 1;
    if (index >= recorded.size()) return refused(404, "not_found");
    return {200, recorded[index].dump()};
  }

  ScriptedMarket server{
      [this](const std::string& request, const std::string& body) { return answer(request, body); }};

 public:
  // Destroyed before the server, which waits for the connection's end.
  std::unique_ptr<Rest> rest = std::make_unique<Rest>(server.url(), "", stopping);
};

}  // namespace remotist::volunteer
