#include "volunteer/agent/checkpoint_transfer.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <format>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

#include "core/chunk.h"
#include "core/digest.h"
#include "core/limits.h"
#include "core/zstd.h"
#include "volunteer/agent/checkpoint_head.h"
#include "volunteer/sandbox/checkpoint_file.h"
#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view kForCheckpoint = "?for=checkpoint";

std::string job_path(const AttemptCredentials& credentials, std::string_view rest) {
  return "/job/" + credentials.attempt.name.job.text() + std::string{rest};
}

void post(Rest& rest, const AttemptCredentials& credentials, std::string_view path, const json& body) {
  require_success(rest.call("POST", job_path(credentials, path), credentials.json_headers(), body.dump()));
}

std::vector<std::string> names_of(const std::vector<CheckpointChunk>& chunks) {
  std::vector<std::string> names;
  names.reserve(chunks.size());
  for (const auto& chunk : chunks) names.push_back(hex_of({chunk.name.data(), chunk.name.size()}));
  return names;
}

// Throws when the market lacks a chunk that is not in the file: it would be no use to send the others.
void require_frames(const std::vector<CheckpointChunk>& chunks, const std::vector<std::string>& names,
                    const std::set<std::string>& missing) {
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (chunks[i].stored == 0 && missing.contains(names[i]))
      throw TransferError{{"lacks_frames", "the market does not have a chunk that was kept before"}};
  }
}

}  // namespace

CheckpointUpload upload_checkpoint(Rest& rest, const AttemptCredentials& credentials,
                                   const CheckpointTaken& taken, UploadPace& pace,
                                   const UploadControl& control, const std::atomic<bool>& stopping) {
  CheckpointUpload upload;
  upload.fault = fault_of([&] {
    const Descriptor opened{::open(taken.file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)};
    if (!opened) throw std::system_error{errno, std::system_category(), "the checkpoint"};
    const auto file = CheckpointFile::open(opened.get());
    if (!file) throw TransferError{{"damaged", file.error()}};
    auto uploaded = std::make_shared<UploadedChunks>();
    uploaded->manifest = file->manifest_text();
    uploaded->chunks = names_of(file->chunks());
    auto missing = missing_chunks(rest, credentials, uploaded->chunks, kForCheckpoint);
    require_frames(file->chunks(), uploaded->chunks, missing);
    for (std::size_t i = 0; i < uploaded->chunks.size(); ++i) {
      const auto& chunk = file->chunks()[i];
      uploaded->contents_bytes += chunk.length;
      if (missing.erase(uploaded->chunks[i]) == 0) continue;
      if (!pace.wait(chunk.stored, control, stopping))
        throw TransferError{{"cancelled", "not needed any more"}};
      const auto frame = file->frame(i);
      if (!frame) throw TransferError{{"damaged", "the checkpoint was shortened"}};
      put_chunk(rest, credentials, uploaded->chunks[i], *frame, kForCheckpoint);
      uploaded->sent_bytes += chunk.stored;
    }
    upload.chunks = std::move(uploaded);
  });
  return upload;
}

RecordedCheckpoint record_checkpoint(Rest& rest, const AttemptCredentials& credentials,
                                     const CheckpointRecord& record) {
  RecordedCheckpoint recorded;
  recorded.fault = fault_of([&] {
    const auto put_text = [&](const std::string& text) {
      if (text.size() > limits::kChunkBytesMax)
        throw TransferError{{"too_large", "its description is too long"}};
      auto name = ChunkName::of(text).hex();
      put_chunk(rest, credentials, name, zstd_compress(text), kForCheckpoint);
      return name;
    };
    const auto head = put_text(head_text(record));
    const auto log = record.taken->log.empty() ? std::string{} : put_text(record.taken->log);
    const auto age = std::chrono::steady_clock::now() - record.taken->at;
    const auto age_ms = std::chrono::duration_cast<std::chrono::milliseconds>(age).count();
    const auto body = record_body(record, head, log, std::max<std::int64_t>(age_ms, 0));
    const auto answer = require_success(
        rest.call("POST", job_path(credentials, "/checkpoint"), credentials.json_headers(), body.dump()));
    recorded.sequence = json_of_answer(answer.body).at("sequence").get<std::int64_t>();
  });
  return recorded;
}

TransferFault send_checkpoint_note(Rest& rest, const AttemptCredentials& credentials,
                                   const CheckpointNote& note) {
  return fault_of([&] {
    json body{{"interval_ms", note.interval_ms}, {"problem", nullptr}};
    if (!note.problem.empty()) body["problem"] = note.problem;
    post(rest, credentials, "/checkpoint/note", body);
  });
}

TransferFault send_resume_report(Rest& rest, const AttemptCredentials& credentials,
                                 const ResumeReport& report) {
  return fault_of([&] {
    json skipped = json::array();
    for (const auto& each : report.skipped)
      skipped.push_back({{"sequence", each.sequence}, {"reason", each.reason}});
    post(rest, credentials, "/resume", {{"sequence", report.sequence}, {"skipped", std::move(skipped)}});
  });
}

}  // namespace remotist::volunteer
