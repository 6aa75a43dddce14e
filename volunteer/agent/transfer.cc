#include "volunteer/agent/transfer.h"

#include <algorithm>
#include <cstring>
#include <format>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/chunk.h"
#include "core/file_path.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/utf8.h"
#include "core/zstd.h"
#include "volunteer/agent/job_files.h"
#include "volunteer/agent/market_requests.h"
#include "volunteer/sandbox/job_disc.h"

namespace remotist::volunteer {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kFilesInOnePage = limits::kPageRowsMax;
constexpr std::size_t kFilesInOneRequest = 500;
constexpr std::size_t kNamesBytesInOneRequest = 512 << 10;
constexpr std::size_t kLiveLogBytesMax = 32 << 10;
constexpr auto kLogPath = "log.txt";
constexpr auto kErrorPath = "error.json";

// --- in

// Checks the paths and the total size of a job's files.
class JobFileCheck {
 public:
  explicit JobFileCheck(std::int64_t disc_mb) : left_(disc_mb << 20) {}
  // The same path in code and data is allowed: the data file replaces the code file.
  void add_path(const std::string& path) {
    if (!is_file_path(path)) throw TransferError{{"invalid_files", "a file of the job has an invalid path"}};
    const auto other = tree_.add(path);
    if (other && *other != path)
      throw TransferError{
          {"invalid_files",
           path + " and " + *other + " conflict: one of the two would be both a file and a folder"}};
  }
  void add_bytes(std::size_t bytes) {
    left_ -= static_cast<std::int64_t>(bytes);
    if (left_ < 0)
      throw TransferError{{"limit_disc", "the job's own files are larger than the disc that it asked for"}};
  }

 private:
  std::int64_t left_;
  FileTree tree_;
};

std::string fetch_cached(Rest& rest, ChunkCache& cache, const AttemptCredentials& credentials,
                         const ChunkName& name) {
  if (auto cached = cache.find(name)) return std::move(*cached);
  auto chunk = fetch_chunk(rest, credentials, name);
  if (!chunk.is_intact) throw TransferError{{"no_answer", "the bytes of a chunk do not match its name"}};
  cache.store(name, chunk.bytes);
  return std::move(chunk.bytes);
}

void fetch_file(Rest& rest, ChunkCache& cache, const AttemptCredentials& credentials, const json& file,
                const fs::path& work, JobFileCheck& check) {
  const auto path = file.at("path").get<std::string>();
  check.add_path(path);
  FileWriter writer{work, path};
  const auto append = [&](const std::string& bytes) {
    check.add_bytes(bytes.size());
    writer.append(bytes);
  };
  if (file.contains("text")) {
    append(file["text"].get<std::string>());
  } else if (file.contains("base64")) {
    append(bytes_of_base64(file["base64"].get<std::string>()).value_or(""));
  } else {
    for (const auto& hex : file.at("chunks")) {
      const auto name = ChunkName::parse(hex.get<std::string>());
      if (!name) throw TransferError{{"damaged", "a chunk of the job has no name"}};
      append(fetch_cached(rest, cache, credentials, *name));
    }
  }
  writer.close();
}

void fetch_role(Rest& rest, ChunkCache& cache, const AttemptCredentials& credentials, const std::string& role,
                const fs::path& work, JobFileCheck& check) {
  std::string from;
  for (int page = 1;; ++page) {
    const auto path = "/job/" + credentials.attempt.name.job.text() + "/" + role +
                      "?page=" + std::to_string(page) + "&per_page=" + std::to_string(kFilesInOnePage) + from;
    const auto listed = json_of_answer(require_success(rest.call("GET", path, credentials.headers())).body);
    for (const auto& file : listed.at("files")) fetch_file(rest, cache, credentials, file, work, check);
    if (!listed.at("more").get<bool>()) return;
    // The market ends a large page early.
    if (const auto& next = listed.at("next"); next.is_string()) {
      from = "&from=" + query_value(next.get<std::string>());
      page = 0;
    }
  }
}

// --- out

// A file that a guest produced.
struct ProducedFile {
  std::string role;
  std::string path;       // for the job's owner
  fs::path folder;        // on this machine
  std::string file_path;  // relative to folder
};

std::vector<ProducedFile> produced_files(const Verdict& verdict, const fs::path& folder) {
  std::vector<ProducedFile> files{{"log", kLogPath, folder, kLogFile}};
  if (verdict.ending == Ending::completed)
    files.push_back({"output", kResultFile, folder / kOutFolder, kResultFile});
  if (verdict.ending == Ending::r_error)
    files.push_back({"error", kErrorFile, folder / kOutFolder, kErrorFile});
  if (verdict.ending == Ending::completed || verdict.ending == Ending::r_error) {
    for (const auto& path : verdict.made)
      files.push_back({"files", kept_file_path(path).value(), folder / kWorkFolder, path});
  }
  return files;
}

// Files other than the result are left out when they cannot be read.
bool is_deliverable(const ProducedFile& file) {
  if (file.role == "output") return true;
  try {
    const FileReader reader{file.folder, file.file_path};
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

std::string error_document(const Verdict& verdict) {
  const json document{
      {"ending", name_of(verdict.ending)}, {"limit", verdict.limit ? name_of(*verdict.limit) : ""},
      {"message", verdict.message},        {"call", verdict.call},
      {"traceback", verdict.traceback},    {"wall_ms", verdict.wall_ms},
      {"ram_kb_peak", verdict.ram_kb_peak}};
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

// The files that fit into the outcome message.
class OutcomeFiles {
 public:
  explicit OutcomeFiles(std::vector<protocol::OutcomeFile>& files) : files_(files) {}
  bool try_add(const std::string& role, const std::string& path, std::int64_t size) {
    const auto bytes = static_cast<std::size_t>(size) + 6 * path.size();
    if (files_.size() >= limits::kOutcomeFilesMax || bytes > left_) return false;
    left_ -= bytes;
    files_.push_back({role, path, {}});
    return true;
  }

 private:
  std::vector<protocol::OutcomeFile>& files_;
  std::size_t left_ = limits::kOutcomeBytesMax;
};

// The chunks of a file, and its size.
struct Chunks {
  std::vector<std::string> names;
  std::int64_t size = 0;
};

// Throws TransferError before it reads anything when the file is too long.
Chunks chunks_of(const ProducedFile& file, std::int64_t bytes_max) {
  FileReader reader{file.folder, file.file_path};
  if (reader.size() > bytes_max) {
    throw TransferError{{"too_large", std::format("{} is {} bytes long, where at most {} can be sent",
                                                  file.path, reader.size(), bytes_max)}};
  }
  Chunks chunks;
  for (auto bytes = reader.read(limits::kChunkBytesMax); !bytes.empty();
       bytes = reader.read(limits::kChunkBytesMax)) {
    chunks.names.push_back(ChunkName::of(bytes).hex());
    chunks.size += static_cast<std::int64_t>(bytes.size());
  }
  return chunks;
}

// Uploads the missing chunks and removes them from the set.
void send_chunks(Rest& rest, const AttemptCredentials& credentials, const ProducedFile& file,
                 const Chunks& chunks, std::set<std::string>& missing) {
  if (std::ranges::none_of(chunks.names, [&](const auto& name) { return missing.contains(name); })) return;
  FileReader reader{file.folder, file.file_path};
  for (const auto& name : chunks.names) {
    const auto bytes = reader.read(limits::kChunkBytesMax);
    if (missing.erase(name) > 0) put_chunk(rest, credentials, name, zstd_compress(bytes));
  }
}

void name_files(Rest& rest, const AttemptCredentials& credentials, const std::string& role,
                const json& files) {
  const json body{{"files", files}};
  require_success(rest.call("POST", "/job/" + credentials.attempt.name.job.text() + "/" + role,
                            credentials.json_headers(), body.dump()));
}

// Files that are uploaded together: one request asks for the missing chunks, and one for each role names the
// files.
class Batch {
 public:
  void add(const ProducedFile& file, Chunks chunks) {
    bytes_ += 70 * chunks.names.size() + 300;
    files_.emplace_back(file, std::move(chunks));
  }
  bool is_full() const { return files_.size() >= kFilesInOneRequest || bytes_ >= kNamesBytesInOneRequest; }
  void send(Rest& rest, const AttemptCredentials& credentials) const {
    std::vector<std::string> names;
    for (const auto& [file, chunks] : files_) std::ranges::copy(chunks.names, std::back_inserter(names));
    auto missing = missing_chunks(rest, credentials, names);
    std::map<std::string, json> named;  // by role
    for (const auto& [file, chunks] : files_) {
      send_chunks(rest, credentials, file, chunks, missing);
      named[file.role].push_back({{"path", file.path}, {"size", chunks.size}, {"chunks", chunks.names}});
    }
    for (const auto& [role, files] : named) name_files(rest, credentials, role, files);
  }

 private:
  std::vector<std::pair<ProducedFile, Chunks>> files_;
  std::size_t bytes_ = 0;
};

constexpr auto kJobBytesMax = static_cast<std::int64_t>(limits::kJobChunksMax * limits::kChunkBytesMax);

void send_large(Rest& rest, const AttemptCredentials& credentials, const std::vector<ProducedFile>& large) {
  Batch batch;
  std::int64_t bytes_left = kJobBytesMax;
  for (const auto& file : large) {
    auto chunks = chunks_of(file, bytes_left);
    bytes_left -= chunks.size;
    batch.add(file, std::move(chunks));
    if (!batch.is_full()) continue;
    batch.send(rest, credentials);
    batch = {};
  }
  batch.send(rest, credentials);
}

}  // namespace

TransferFault fetch_job(Rest& rest, ChunkCache& cache, const AttemptCredentials& credentials,
                        const protocol::Assignment& assignment,
                        const std::function<const GuestSpec&()>& make_folder) {
  return fault_of([&] {
    const auto& guest = make_folder();
    const auto work = guest.folder / kWorkFolder;
    try {
      for (const auto& file : fs::directory_iterator{work}) fs::remove_all(file.path());
      JobFileCheck check{assignment.disc_mb};
      for (const auto& file : assignment.files) {
        check.add_bytes(file.bytes.size());
        check.add_path(file.path);
        FileWriter writer{work, file.path};
        writer.append(file.bytes);
        writer.close();
      }
      if (!assignment.files.empty()) return;
      fetch_role(rest, cache, credentials, "code", work, check);
      fetch_role(rest, cache, credentials, "data", work, check);
    } catch (const std::system_error& fault) {
      if (guest.disc == nullptr || fault.code() != std::errc::no_space_on_device) throw;
      throw TransferError{{"limit_disc", "the job's own files are larger than the disc that it asked for"}};
    }
  });
}

Delivery deliver_job(Rest& rest, const AttemptCredentials& credentials, const Verdict& verdict,
                     const GuestSpec& guest) {
  Delivery delivery;
  delivery.fault = fault_of([&] {
    OutcomeFiles small_files{delivery.small};
    if (verdict.ending != Ending::completed) {
      auto document = error_document(verdict);
      if (small_files.try_add("error", kErrorPath, static_cast<std::int64_t>(document.size())))
        delivery.small.back().bytes = std::move(document);
    }
    std::vector<ProducedFile> large;
    for (auto& file : produced_files(verdict, guest.folder)) {
      if (!is_deliverable(file)) continue;
      FileReader reader{file.folder, file.file_path};
      if (file.role == "log" && reader.size() == 0) continue;
      if (small_files.try_add(file.role, file.path, reader.size())) {
        auto& bytes = delivery.small.back().bytes;
        bytes = reader.read(static_cast<std::size_t>(reader.size()));
        if (file.role == "log") bytes = utf8_within(bytes, bytes.size());
      } else {
        large.push_back(std::move(file));
      }
    }
    send_large(rest, credentials, large);
  });
  // Checked after everything is read: until then a page can be lost and read as zeros.
  if (const int problem = guest.disc ? guest.disc->lost_writes() : 0; problem != 0) {
    delivery.fault = {"lost_writes",
                      std::format("the disc lost data that the job wrote: {}", std::strerror(problem))};
  }
  if (delivery.fault) delivery.small.clear();
  return delivery;
}

Uploaded upload_value(Rest& rest, const AttemptCredentials& credentials, const fs::path& folder,
                      const std::string& file) {
  Uploaded uploaded;
  uploaded.fault = fault_of([&] {
    const ProducedFile produced{"", file, folder / kOutFolder, file};
    // The job still runs and may have changed the file since its size was checked.
    auto chunks = chunks_of(produced, limits::kWatchedFileBytesMax);
    if (chunks.names.empty()) throw TransferError{{"too_large", "it has no bytes"}};
    auto missing = missing_chunks(rest, credentials, chunks.names);
    send_chunks(rest, credentials, produced, chunks, missing);
    uploaded.chunks = std::move(chunks.names);
    uploaded.size = chunks.size;
  });
  if (!uploaded.fault) discard_value(folder, file);
  return uploaded;
}

void discard_value(const fs::path& folder, const std::string& file) {
  // A file that cannot be deleted now is deleted with the guest's folder.
  (void)fault_of([&] { remove_file(folder / kOutFolder, file); });
}

TransferFault send_log(Rest& rest, const AttemptCredentials& credentials, std::string_view text) {
  return fault_of([&] {
    if (text.size() > kLiveLogBytesMax) text.remove_prefix(text.size() - kLiveLogBytesMax);
    const json file{{"path", kLogPath}, {"text", utf8_within(text, text.size())}};
    require_success(rest.call("POST", "/job/" + credentials.attempt.name.job.text() + "/log",
                              credentials.json_headers(), file.dump()));
  });
}

}  // namespace remotist::volunteer
