// The part of checkpoint_transfer.h that fetches checkpoints.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <format>
#include <set>
#include <span>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "core/chunk.h"
#include "core/digest.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/utf8.h"
#include "volunteer/agent/checkpoint_head.h"
#include "volunteer/agent/checkpoint_transfer.h"
#include "volunteer/agent/resume_choice.h"
#include "volunteer/agent/retry_policy.h"
#include "volunteer/sandbox/checkpoint_file.h"
#include "volunteer/sandbox/descriptor.h"
#include "volunteer/sandbox/rlimits.h"

namespace remotist::volunteer {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr auto kResumeFile = "resume";
constexpr int kTriesOfChunk = 3;
constexpr std::size_t kOfferedMax = 100;  // far more than a market keeps

// Thrown for a checkpoint that is to be skipped, with the reason.
struct Unusable {
  std::string reason;
};

// A checkpoint that a market does not have any more, or has damaged, is skipped; everything else is a fault
// of the connection.
bool is_gone(const TransferFault& fault) {
  return fault.code == "not_found" || fault.code == "chunks_missing" || fault.code == "damaged";
}

class Fetcher {
 public:
  Fetcher(Rest& rest, const AttemptCredentials& credentials, const GuestSpec& guest)
      : rest_(rest),
        credentials_(credentials),
        guest_(guest),
        bytes_max_(checkpoint_bytes_max(guest.limits)) {}

  std::int64_t bytes_max() const { return bytes_max_; }

  // Newest first.
  std::vector<OfferedCheckpoint> offered() {
    const auto answer = get("/checkpoint");
    const auto& rows = answer.is_object() ? answer.at("checkpoints") : answer;
    std::vector<OfferedCheckpoint> all;
    for (const auto& row : rows) {
      if (all.size() == kOfferedMax) break;
      all.push_back(offered_checkpoint(row));
    }
    std::ranges::sort(all, std::greater{}, &OfferedCheckpoint::sequence);
    return all;
  }

  ResumeFrom fetch(const OfferedCheckpoint& checkpoint) {
    const auto names = chunk_names(checkpoint);
    const auto head = read_head(chunk(names.front()).bytes, guest_.watched_variables);
    ResumeFrom from{
        .file = guest_.folder / kResumeFile,
        .log = {},
        .log_left_out = static_cast<std::uint64_t>(std::max<std::int64_t>(checkpoint.log_left_out, 0)),
        .watched = head.watched};
    if (!checkpoint.log.empty()) from.log = log_text(checkpoint.log);
    assemble(from.file, head.manifest, std::span{names}.subspan(1));
    return from;
  }

 private:
  json get(const std::string& path) {
    return json_of_answer(
        require_success(
            rest_.call("GET", "/job/" + credentials_.attempt.name.job.text() + path, credentials_.headers()))
            .body);
  }

  std::vector<ChunkName> chunk_names(const OfferedCheckpoint& checkpoint) {
    const auto document = get("/checkpoint/" + std::to_string(checkpoint.sequence));
    const auto& listed = document.at("chunks");
    if (!listed.is_array() || listed.empty() || listed.size() > limits::kCheckpointChunksMax)
      throw Unusable{"it does not have the number of chunks that a checkpoint has"};
    std::vector<ChunkName> names;
    for (const auto& hex : listed) {
      auto name = ChunkName::parse(hex.get<std::string>());
      if (!name) throw Unusable{"a chunk of it has no name"};
      names.push_back(std::move(*name));
    }
    return names;
  }

  FetchedChunk chunk(const ChunkName& name) {
    for (int tries = 1;; ++tries) {
      try {
        auto fetched = fetch_chunk(rest_, credentials_, name);
        if (fetched.is_intact) return fetched;
        if (tries == kTriesOfChunk) throw Unusable{"a chunk of it is damaged at the market"};
      } catch (const TransferError& error) {
        if (tries == kTriesOfChunk || !is_retryable(error.fault.code)) throw;
      }
    }
  }

  std::string log_text(const std::string& hex) {
    const auto name = ChunkName::parse(hex);
    if (!name) throw Unusable{"its log has no name"};
    auto text = chunk(*name).bytes;
    if (text.size() > guest_.limits.output_bytes_max) text.resize(guest_.limits.output_bytes_max);
    return text;
  }

  void assemble(const fs::path& path, const std::string& manifest, std::span<const ChunkName> names) {
    ::unlink(path.c_str());
    const Descriptor file{::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
    if (!file) throw std::system_error{errno, std::system_category(), "a checkpoint"};
    std::vector<ChunkHash> hashes(names.size());
    for (std::size_t i = 0; i < names.size(); ++i)
      std::ranges::copy(bytes_of_hex(names[i].hex(), hashes[i].size()).value(), hashes[i].begin());
    std::int64_t left = bytes_max_;
    const auto why =
        assemble_checkpoint(file.get(), manifest, hashes, [&](std::size_t i) -> std::optional<std::string> {
          auto fetched = chunk(names[i]);
          left -= static_cast<std::int64_t>(fetched.bytes.size());
          if (left < 0) throw Unusable{"it is larger than the job's memory and disc"};
          return std::move(fetched.frame);
        });
    if (why.empty()) return;
    if (is_full(file)) throw std::system_error{ENOSPC, std::system_category(), "a checkpoint"};
    throw Unusable{why};
  }

  // Whether the disc takes nothing more.
  static bool is_full(const Descriptor& file) {
    const char byte = 0;
    return ::lseek(file.get(), 0, SEEK_END) < 0 ||
           (::write(file.get(), &byte, 1) != 1 && (errno == ENOSPC || errno == EDQUOT));
  }

  Rest& rest_;
  const AttemptCredentials& credentials_;
  const GuestSpec& guest_;
  const std::int64_t bytes_max_;
};

// Fetches it, or says why it is skipped. Throws what is a fault of the connection or of this machine.
std::string fetch_one(Fetcher& fetcher, const OfferedCheckpoint& checkpoint, const GuestSpec& guest,
                      std::optional<ResumeFrom>& from) {
  try {
    from = fetcher.fetch(checkpoint);
    return {};
  } catch (const Unusable& unusable) {
    return unusable.reason;
  } catch (const TransferError& error) {
    if (!is_gone(error.fault)) throw;
    return error.fault.message;
  } catch (const std::system_error& fault) {
    // A job's own disc is as large as its checkpoints may be.
    if (guest.disc == nullptr || fault.code() != std::errc::no_space_on_device) throw;
    return "it does not fit the job's disc";
  } catch (const std::exception& fault) {
    return fault.what();
  }
}

}  // namespace

FetchedCheckpoint fetch_checkpoint(Rest& rest, const AttemptCredentials& credentials,
                                   const MachineSoftware& machine, const GuestSpec& guest,
                                   std::vector<SkippedCheckpoint> skipped) {
  FetchedCheckpoint fetched;
  fetched.report.skipped = std::move(skipped);
  fetched.fault = fault_of([&] {
    Fetcher fetcher{rest, credentials, guest};
    for (const auto& checkpoint : fetcher.offered()) {
      const auto is_it = [&](const auto& each) { return each.sequence == checkpoint.sequence; };
      if (std::ranges::any_of(fetched.report.skipped, is_it)) continue;
      auto why = why_not_resumable(checkpoint, machine, fetcher.bytes_max());
      if (why.empty()) why = fetch_one(fetcher, checkpoint, guest, fetched.from);
      if (why.empty()) {
        fetched.report.sequence = checkpoint.sequence;
        fetched.cpu_ms_max = checkpoint.cpu_ms_max;
        return;
      }
      log::warn(
          "checkpoint_skipped",
          {{"job", credentials.attempt.name.job.text()}, {"checkpoint", checkpoint.sequence}, {"why", why}});
      fetched.report.skipped.push_back({checkpoint.sequence, clean_text(why, limits::kMessageTextBytesMax)});
      ::unlink((guest.folder / kResumeFile).c_str());
    }
  });
  if (fetched.fault) fetched.from.reset();
  return fetched;
}

}  // namespace remotist::volunteer
