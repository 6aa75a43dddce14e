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
#include "volunteer/agent/folder.h"
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

// Carries a fault out of the depth of a transfer.
struct Failed {
  TransferFault fault;
};

RestAnswer done(RestAnswer answer) {
  if (!answer.good()) throw Failed{{answer.code(), answer.words()}};
  return answer;
}

json read_json(const std::string& body) {
  auto document = json_if_any(body);
  if (!document) throw Failed{{"damaged", "the market's answer is not JSON"}};
  return std::move(*document);
}

// Runs a transfer; whatever goes wrong in it becomes a fault.
template <class Work>
TransferFault guarded(Work work) {
  try {
    work();
    return {};
  } catch (const Failed& failed) {
    return failed.fault;
  } catch (const std::system_error& fault) {
    const bool is_full = fault.code() == std::errc::no_space_on_device || fault.code() == std::errc{EDQUOT};
    return {is_full ? "disk_full" : "no_file", fault.what()};
  } catch (const std::exception& fault) {
    return {"damaged", fault.what()};
  }
}

// --- in

std::string fetch_chunk(Rest& rest, ChunkCache& cache, const Proof& proof, const ChunkName& name) {
  if (auto kept = cache.find(name)) return std::move(*kept);
  auto headers = proof.headers();
  headers.emplace_back("Accept-Encoding: zstd");
  const auto answer =
      done(rest.call("GET", "/blob/" + name.hex() + "?job=" + proof.attempt.name.job.text(), headers));
  auto bytes = zstd_decompress(answer.body, limits::kChunkBytesMax);
  if (!bytes) bytes = answer.body;  // something between may have taken the encoding away
  if (ChunkName::of(*bytes) != name)
    throw Failed{{"no_answer", "a chunk came with other bytes than its name says"}};
  cache.keep(name, *bytes);
  return std::move(*bytes);
}

// What a job's files may take together, and where each of them stands.
class Room {
 public:
  explicit Room(std::int64_t disc_mb) : left_(disc_mb << 20) {}
  // One of code and data that have the same path replaces the other.
  void place(const std::string& path) {
    if (!is_file_path(path)) throw Failed{{"invalid_files", "a file of the job has a path that is none"}};
    const auto other = tree_.add(path);
    if (other && *other != path)
      throw Failed{{"invalid_files", path + " and " + *other +
                                         " cannot stand in one folder: one of the two "
                                         "would be both a file and a folder"}};
  }
  void take(std::size_t bytes) {
    left_ -= static_cast<std::int64_t>(bytes);
    if (left_ < 0)
      throw Failed{{"limit_disc", "the job's own files are larger than the disc that it asked for"}};
  }

 private:
  std::int64_t left_;
  FileTree tree_;
};

void fetch_file(Rest& rest, ChunkCache& cache, const Proof& proof, const json& file, const fs::path& work,
                Room& room) {
  const auto path = file.at("path").get<std::string>();
  room.place(path);
  FileWriter writer{work, path};
  const auto append = [&](const std::string& bytes) {
    room.take(bytes.size());
    writer.append(bytes);
  };
  if (file.contains("text")) {
    append(file["text"].get<std::string>());
  } else if (file.contains("base64")) {
    append(bytes_of_base64(file["base64"].get<std::string>()).value_or(""));
  } else {
    for (const auto& hex : file.at("chunks")) {
      const auto name = ChunkName::parse(hex.get<std::string>());
      if (!name) throw Failed{{"damaged", "a chunk of the job has no name"}};
      append(fetch_chunk(rest, cache, proof, *name));
    }
  }
  writer.close();
}

void fetch_role(Rest& rest, ChunkCache& cache, const Proof& proof, const std::string& role,
                const fs::path& work, Room& room) {
  for (int page = 1;; ++page) {
    const auto path = "/job/" + proof.attempt.name.job.text() + "/" + role + "?page=" + std::to_string(page) +
                      "&per_page=" + std::to_string(kFilesInOnePage);
    const auto listed = read_json(done(rest.call("GET", path, proof.headers())).body);
    for (const auto& file : listed.at("files")) fetch_file(rest, cache, proof, file, work, room);
    if (!listed.at("more").get<bool>()) return;
  }
}

// --- out

// A file that a guest has left, and what it is to its owner.
struct Left {
  std::string role;
  std::string path;  // as its owner sees it
  fs::path folder;   // where it is:
  std::string at;    // below that
};

std::vector<Left> left_by(const Verdict& verdict, const fs::path& folder) {
  std::vector<Left> left{{"log", kLogPath, folder, kLogFile}};
  if (verdict.ending == Ending::completed)
    left.push_back({"output", kResultFile, folder / kOutFolder, kResultFile});
  if (verdict.ending == Ending::r_error)
    left.push_back({"error", kErrorFile, folder / kOutFolder, kErrorFile});
  if (verdict.ending == Ending::completed || verdict.ending == Ending::r_error) {
    for (const auto& path : verdict.made)
      left.push_back({"files", kept_file_path(path).value(), folder / kWorkFolder, path});
  }
  return left;
}

// Of what the script made for itself, what cannot be read is left out; a result must be there.
bool is_readable(const Left& left) {
  if (left.role == "output") return true;
  try {
    const FileReader reader{left.folder, left.at};
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

std::string error_document(const Verdict& verdict) {
  const json document{{"ending", name_of(verdict.ending)}, {"limit", verdict.limit},
                      {"message", verdict.message},        {"call", verdict.call},
                      {"traceback", verdict.traceback},    {"wall_ms", verdict.wall_ms},
                      {"ram_kb_peak", verdict.ram_kb_peak}};
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

// What still fits into the outcome's message.
class Carry {
 public:
  explicit Carry(std::vector<protocol::OutcomeFile>& files) : files_(files) {}
  bool take(const std::string& role, const std::string& path, std::int64_t size) {
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

// A file's chunks, and the bytes that they are of.
struct Chunks {
  std::vector<std::string> names;
  std::int64_t size = 0;
};

// Throws Failed, before anything is read, when the file is longer than it may be.
Chunks chunks_of(const Left& left, std::int64_t bytes_max) {
  FileReader reader{left.folder, left.at};
  if (reader.size() > bytes_max) {
    throw Failed{{"too_large", std::format("{} is {} bytes long, where at most {} can be sent", left.path,
                                           reader.size(), bytes_max)}};
  }
  Chunks chunks;
  for (auto bytes = reader.read(limits::kChunkBytesMax); !bytes.empty();
       bytes = reader.read(limits::kChunkBytesMax)) {
    chunks.names.push_back(ChunkName::of(bytes).hex());
    chunks.size += static_cast<std::int64_t>(bytes.size());
  }
  return chunks;
}

// Those of the names that the market does not have.
std::set<std::string> missing_of(Rest& rest, const Proof& proof, const std::vector<std::string>& names) {
  std::set<std::string> missing;
  for (std::size_t at = 0; at < names.size(); at += limits::kChunksAskedMax) {
    const auto last = std::min(names.size(), at + limits::kChunksAskedMax);
    const json asked{{"chunks", std::vector<std::string>(names.begin() + static_cast<std::ptrdiff_t>(at),
                                                         names.begin() + static_cast<std::ptrdiff_t>(last))}};
    auto headers = proof.headers();
    headers.emplace_back("Content-Type: application/json");
    const auto answer = read_json(done(rest.call("POST", "/blob/missing", headers, asked.dump())).body);
    for (const auto& name : answer.at("missing")) missing.insert(name.get<std::string>());
  }
  return missing;
}

// Sends those that are missing, and takes them out of the set.
void send_chunks(Rest& rest, const Proof& proof, const Left& left, const Chunks& chunks,
                 std::set<std::string>& missing) {
  if (std::ranges::none_of(chunks.names, [&](const auto& name) { return missing.contains(name); })) return;
  auto headers = proof.headers();
  headers.emplace_back("Content-Type: application/octet-stream");
  headers.emplace_back("Content-Encoding: zstd");
  FileReader reader{left.folder, left.at};
  for (const auto& name : chunks.names) {
    const auto bytes = reader.read(limits::kChunkBytesMax);
    if (missing.erase(name) > 0) done(rest.call("PUT", "/blob/" + name, headers, zstd_compress(bytes)));
  }
}

void name_files(Rest& rest, const Proof& proof, const std::string& role, const json& files) {
  auto headers = proof.headers();
  headers.emplace_back("Content-Type: application/json");
  const json body{{"files", files}};
  done(rest.call("POST", "/job/" + proof.attempt.name.job.text() + "/" + role, headers, body.dump()));
}

// Files that are sent together: one question about all their chunks, and one request that names them.
class Batch {
 public:
  void add(const Left& left, Chunks chunks) {
    bytes_ += 70 * chunks.names.size() + 300;
    files_.emplace_back(left, std::move(chunks));
  }
  bool is_full() const { return files_.size() >= kFilesInOneRequest || bytes_ >= kNamesBytesInOneRequest; }
  void send(Rest& rest, const Proof& proof) const {
    std::vector<std::string> names;
    for (const auto& [left, chunks] : files_) std::ranges::copy(chunks.names, std::back_inserter(names));
    auto missing = missing_of(rest, proof, names);
    std::map<std::string, json> named;  // by role
    for (const auto& [left, chunks] : files_) {
      send_chunks(rest, proof, left, chunks, missing);
      named[left.role].push_back({{"path", left.path}, {"size", chunks.size}, {"chunks", chunks.names}});
    }
    for (const auto& [role, files] : named) name_files(rest, proof, role, files);
  }

 private:
  std::vector<std::pair<Left, Chunks>> files_;
  std::size_t bytes_ = 0;
};

constexpr auto kJobBytesMax = static_cast<std::int64_t>(limits::kJobChunksMax * limits::kChunkBytesMax);

void send_large(Rest& rest, const Proof& proof, const std::vector<Left>& large) {
  Batch batch;
  std::int64_t bytes_left = kJobBytesMax;
  for (const auto& left : large) {
    auto chunks = chunks_of(left, bytes_left);
    bytes_left -= chunks.size;
    batch.add(left, std::move(chunks));
    if (!batch.is_full()) continue;
    batch.send(rest, proof);
    batch = {};
  }
  batch.send(rest, proof);
}

}  // namespace

std::vector<std::string> Proof::headers() const {
  return {"Authorization: Bearer " + machine_token, "Remotist-Attempt: " + attempt.name.job.text() + " " +
                                                        std::to_string(attempt.name.number) + " " +
                                                        attempt.token};
}

TransferFault fetch_job(Rest& rest, ChunkCache& cache, const Proof& proof,
                        const protocol::Assignment& assignment,
                        const std::function<const GuestSpec&()>& make_folder) {
  return guarded([&] {
    const auto& guest = make_folder();
    const auto work = guest.folder / kWorkFolder;
    try {
      for (const auto& left : fs::directory_iterator{work}) fs::remove_all(left.path());
      Room room{assignment.disc_mb};
      for (const auto& file : assignment.files) {
        room.take(file.bytes.size());
        room.place(file.path);
        FileWriter writer{work, file.path};
        writer.append(file.bytes);
        writer.close();
      }
      if (!assignment.files.empty()) return;
      fetch_role(rest, cache, proof, "code", work, room);
      fetch_role(rest, cache, proof, "data", work, room);
    } catch (const std::system_error& fault) {
      if (guest.disc == nullptr || fault.code() != std::errc::no_space_on_device) throw;
      throw Failed{{"limit_disc", "the job's own files take more room than the disc that it asked for"}};
    }
  });
}

Delivery deliver_job(Rest& rest, const Proof& proof, const Verdict& verdict, const GuestSpec& guest) {
  Delivery delivery;
  delivery.fault = guarded([&] {
    Carry carry{delivery.small};
    if (verdict.ending != Ending::completed) {
      auto document = error_document(verdict);
      if (carry.take("error", kErrorPath, static_cast<std::int64_t>(document.size())))
        delivery.small.back().bytes = std::move(document);
    }
    std::vector<Left> large;
    for (auto& left : left_by(verdict, guest.folder)) {
      if (!is_readable(left)) continue;
      FileReader reader{left.folder, left.at};
      if (left.role == "log" && reader.size() == 0) continue;
      if (carry.take(left.role, left.path, reader.size())) {
        auto& bytes = delivery.small.back().bytes;
        bytes = reader.read(static_cast<std::size_t>(reader.size()));
        if (left.role == "log") bytes = utf8_within(bytes, bytes.size());
      } else {
        large.push_back(std::move(left));
      }
    }
    send_large(rest, proof, large);
  });
  // After all was read: until then a page can be lost, and be read as zeros.
  if (const int problem = guest.disc ? guest.disc->lost_writes() : 0; problem != 0) {
    delivery.fault = {"lost_writes",
                      std::format("what the job wrote could not be kept: {}", std::strerror(problem))};
  }
  if (delivery.fault) delivery.small.clear();
  return delivery;
}

Uploaded send_value(Rest& rest, const Proof& proof, const fs::path& folder, const std::string& file) {
  Uploaded uploaded;
  uploaded.fault = guarded([&] {
    const Left left{"", file, folder / kOutFolder, file};
    // Its job still runs and may have changed it since it was weighed.
    auto chunks = chunks_of(left, limits::kWatchedFileBytesMax);
    if (chunks.names.empty()) throw Failed{{"too_large", "it has no bytes"}};
    auto missing = missing_of(rest, proof, chunks.names);
    send_chunks(rest, proof, left, chunks, missing);
    uploaded.chunks = std::move(chunks.names);
    uploaded.size = chunks.size;
  });
  if (!uploaded.fault) discard_value(folder, file);
  return uploaded;
}

void discard_value(const fs::path& folder, const std::string& file) {
  // What is left is deleted with the guest's folder.
  (void)guarded([&] { remove_file(folder / kOutFolder, file); });
}

TransferFault send_log(Rest& rest, const Proof& proof, std::string_view text) {
  return guarded([&] {
    auto headers = proof.headers();
    headers.emplace_back("Content-Type: application/json");
    if (text.size() > kLiveLogBytesMax) text.remove_prefix(text.size() - kLiveLogBytesMax);
    const json file{{"path", kLogPath}, {"text", utf8_within(text, text.size())}};
    done(rest.call("POST", "/job/" + proof.attempt.name.job.text() + "/log", headers, file.dump()));
  });
}

}  // namespace remotist::volunteer
