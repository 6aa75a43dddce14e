#include "volunteer/agent/transfer.h"

#include <atomic>
#include <doctest/doctest.h>
#include <fstream>

#include "core/limits.h"
#include "volunteer/agent/scratch_folder.h"

namespace remotist::volunteer {
namespace {

namespace fs = std::filesystem;

// A market that cannot be reached: whatever is refused before the first request has another fault.
struct Nowhere {
  std::atomic<bool> stopping{false};
  Rest rest{"http://127.0.0.1:1", "", stopping};
  Proof proof{"machine", {{JobId::make(), 1}, "attempt"}};
};

fs::path sparse(const fs::path& file, std::size_t bytes) {
  fs::create_directories(file.parent_path());
  std::ofstream{file} << "x";
  fs::resize_file(file, bytes);
  return file;
}

}  // namespace

TEST_CASE("a result longer than a job's files may be is refused before it is read") {
  const ScratchFolder scratch;
  Nowhere market;
  Verdict verdict;
  verdict.ending = Ending::completed;
  sparse(scratch.path / kOutFolder / kResultFile, limits::kJobChunksMax * limits::kChunkBytesMax + 1);
  const auto delivery = deliver_job(market.rest, market.proof, verdict, scratch.path);
  CHECK(delivery.fault.code == "too_large");
  CHECK(delivery.fault.words.contains(kResultFile));
}

TEST_CASE("files that are too long only together are refused, too") {
  const ScratchFolder scratch;
  Nowhere market;
  Verdict verdict;
  verdict.ending = Ending::completed;
  sparse(scratch.path / kOutFolder / kResultFile, limits::kChunkBytesMax);
  sparse(scratch.path / kWorkFolder / "long",
         limits::kJobChunksMax * limits::kChunkBytesMax - limits::kChunkBytesMax + 1);
  verdict.made = {"long"};
  CHECK(deliver_job(market.rest, market.proof, verdict, scratch.path).fault.code == "too_large");
}

TEST_CASE("a watched value is weighed again when it is opened") {
  const ScratchFolder scratch;
  Nowhere market;
  const auto file = sparse(scratch.path / kOutFolder / "value", limits::kWatchedFileBytesMax + 1);
  CHECK(send_value(market.rest, market.proof, scratch.path, "value").fault.code == "too_large");
  fs::resize_file(file, limits::kWatchedFileBytesMax);
  CHECK(send_value(market.rest, market.proof, scratch.path, "value").fault.code == "no_answer");
  fs::resize_file(file, 0);
  CHECK(send_value(market.rest, market.proof, scratch.path, "value").fault.code == "too_large");
}

}  // namespace remotist::volunteer
