#include "volunteer/agent/transfer.h"

#include <atomic>
#include <doctest/doctest.h>
#include <fstream>

#include "core/limits.h"
#include "volunteer/agent/scratch_folder.h"
#include "volunteer/sandbox/job_disc.h"
#include "volunteer/sandbox/mounts.h"

namespace remotist::volunteer {
namespace {

namespace fs = std::filesystem;

// A market that cannot be reached: a fault other than no_answer comes from before the first request.
struct UnreachableMarket {
  std::atomic<bool> stopping{false};
  Rest rest{"http://127.0.0.1:1", "", stopping};
  AttemptCredentials credentials{"machine", {{JobId::make(), 1}, "attempt"}};
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
  UnreachableMarket market;
  const GuestSpec guest{.name = "guest", .folder = scratch.path};
  Verdict verdict;
  verdict.ending = Ending::completed;
  sparse(scratch.path / kOutFolder / kResultFile, limits::kJobChunksMax * limits::kChunkBytesMax + 1);
  const auto delivery = deliver_job(market.rest, market.credentials, verdict, guest);
  CHECK(delivery.fault.code == "too_large");
  CHECK(delivery.fault.message.contains(kResultFile));
}

TEST_CASE("files that are too long only together are refused, too") {
  const ScratchFolder scratch;
  UnreachableMarket market;
  const GuestSpec guest{.name = "guest", .folder = scratch.path};
  Verdict verdict;
  verdict.ending = Ending::completed;
  sparse(scratch.path / kOutFolder / kResultFile, limits::kChunkBytesMax);
  sparse(scratch.path / kWorkFolder / "long",
         limits::kJobChunksMax * limits::kChunkBytesMax - limits::kChunkBytesMax + 1);
  verdict.made = {"long"};
  CHECK(deliver_job(market.rest, market.credentials, verdict, guest).fault.code == "too_large");
}

TEST_CASE("a result on a disc that lost writes is not delivered, whatever can be read of it") {
  if (probe_disc(DiscKind::image) != 0) {
    MESSAGE("this user can make no images");
    return;
  }
  const Descriptor machine = mount_tmpfs(12 << 20, 100);
  const fs::path below{"/proc/self/fd/" + std::to_string(machine.get())};
  JobDiscs discs{below};
  GuestSpec guest{.name = "guest", .disc = discs.make({5 << 20, 100})};
  REQUIRE(guest.disc->kind() == DiscKind::image);
  guest.folder = guest.disc->path() / guest.name;
  fs::create_directories(guest.folder / kOutFolder);
  std::ofstream{guest.folder / kOutFolder / kResultFile} << "result";
  UnreachableMarket market;
  Verdict verdict;
  verdict.ending = Ending::completed;
  CHECK_FALSE(deliver_job(market.rest, market.credentials, verdict, guest).fault);
  std::ofstream others{below / "of_others"};
  while (others << std::string(4096, 'x') << std::flush) {
  }
  std::ofstream{guest.folder / kOutFolder / kResultFile} << "another";
  std::ofstream{guest.folder / kOutFolder / "more"} << std::string(2 << 20, 'x');
  const auto delivery = deliver_job(market.rest, market.credentials, verdict, guest);
  CHECK(delivery.fault.code == "lost_writes");
  CHECK(delivery.small.empty());
  fs::remove(guest.folder / kOutFolder / kResultFile);
  CHECK(deliver_job(market.rest, market.credentials, verdict, guest).fault.code == "lost_writes");
}

TEST_CASE("a fault names a missing file by its path in the job, not by its path on this machine") {
  const ScratchFolder scratch;
  UnreachableMarket market;
  const GuestSpec guest{.name = "guest", .folder = scratch.path};
  Verdict verdict;
  verdict.ending = Ending::completed;
  const auto without_folder = deliver_job(market.rest, market.credentials, verdict, guest).fault;
  CHECK(without_folder.code == "no_file");
  CHECK(without_folder.message.contains(kOutFolder));
  CHECK_FALSE(without_folder.message.contains(scratch.path.string()));
  CHECK_FALSE(
      upload_value(market.rest, market.credentials, scratch.path, "value").fault.message.contains("/"));
  fs::create_directory(scratch.path / kOutFolder);
  const auto without_file = deliver_job(market.rest, market.credentials, verdict, guest).fault;
  CHECK(without_file.code == "no_file");
  CHECK(without_file.message.starts_with(kResultFile));
}

TEST_CASE("the size of a watched value is checked again when its file is opened") {
  const ScratchFolder scratch;
  UnreachableMarket market;
  const auto file = sparse(scratch.path / kOutFolder / "value", limits::kWatchedFileBytesMax + 1);
  CHECK(upload_value(market.rest, market.credentials, scratch.path, "value").fault.code == "too_large");
  fs::resize_file(file, limits::kWatchedFileBytesMax);
  CHECK(upload_value(market.rest, market.credentials, scratch.path, "value").fault.code == "no_answer");
  fs::resize_file(file, 0);
  CHECK(upload_value(market.rest, market.credentials, scratch.path, "value").fault.code == "too_large");
}

}  // namespace remotist::volunteer
