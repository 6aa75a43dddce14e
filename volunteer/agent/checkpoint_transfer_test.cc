#include "volunteer/agent/checkpoint_transfer.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include "volunteer/agent/checkpoint_fixture.h"
#include "volunteer/sandbox/mounts.h"

namespace remotist::volunteer {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kContents{std::string(100'000, 'a'), std::string(200'000, 'b'), "c"};

CheckpointRecord record_of(const CheckpointUpload& upload, std::string log = "said so far") {
  auto taken = std::make_shared<CheckpointTaken>();
  taken->number = 1;
  taken->pause_ms = 12.5;
  taken->at = std::chrono::steady_clock::now();
  taken->log = std::move(log);
  taken->log_left_out = 7;
  taken->progress = Progress{0.5, "half\x01"};
  return {.taken = taken,
          .uploaded = upload.chunks,
          .number = 1,
          .watched = {{"x", 57, WatchedMark{57, WatchedKind::value, "\x01hash"}}, {"y", 0, std::nullopt}},
          .attempt_cpu_ms = 8100,
          .interval_ms = 293'000};
}

// Uploads and records a checkpoint of these contents.
void keep(CheckpointMarket& market, const fs::path& folder, const std::vector<std::string>& contents) {
  write_checkpoint(folder / "taken", contents);
  const auto upload = market.upload(folder / "taken");
  REQUIRE_FALSE(upload.fault);
  REQUIRE_FALSE(market.record(record_of(upload)).fault);
}

GuestSpec guest_in(const fs::path& folder) {
  return {.name = "guest", .folder = folder, .watched_variables = {"y", "x"}};
}

}  // namespace

TEST_CASE("only the chunks that the market lacks are sent, their frames as they are in the file") {
  const ScratchFolder scratch;
  CheckpointMarket market;
  write_checkpoint(scratch.path / "one", kContents);
  market.chunks[ChunkName::of(kContents[1]).hex()] = kContents[1];
  const auto upload = market.upload(scratch.path / "one");
  REQUIRE_FALSE(upload.fault);
  CHECK(market.count("PUT") == 2);
  REQUIRE(upload.chunks->chunks.size() == 3);
  CHECK(upload.chunks->chunks[2] == ChunkName::of("c").hex());
  CHECK(upload.chunks->contents_bytes == 300'001);
  const auto frames = zstd_compress(kContents[0], 1).size() + zstd_compress("c", 1).size();
  CHECK(upload.chunks->sent_bytes == static_cast<std::int64_t>(frames));
}

TEST_CASE("a chunk that occurs twice is sent once") {
  const ScratchFolder scratch;
  CheckpointMarket market;
  write_checkpoint(scratch.path / "one", {"same", "same"});
  REQUIRE_FALSE(market.upload(scratch.path / "one").fault);
  CHECK(market.count("PUT") == 1);
}

TEST_CASE("a market that dies during an upload is asked again, and gets only the rest") {
  const ScratchFolder scratch;
  CheckpointMarket market;
  write_checkpoint(scratch.path / "one", kContents);
  market.dies_after = 2;
  CHECK(market.upload(scratch.path / "one").fault.code == "no_answer");
  CHECK(market.chunks.size() == 1);
  market.dies_after = SIZE_MAX;
  const auto before = market.count("PUT");
  const auto upload = market.upload(scratch.path / "one");
  REQUIRE_FALSE(upload.fault);
  CHECK(market.count("PUT") - before == 2);
  market.dies_after = 2;
  CHECK(market.record(record_of(upload)).fault.code == "no_answer");
  market.dies_after = SIZE_MAX;
  CHECK(market.record(record_of(upload)).sequence == 1);
}

TEST_CASE("a frame that is neither in the file nor at the market is noticed before anything is sent") {
  const ScratchFolder scratch;
  CheckpointMarket market;
  write_checkpoint(scratch.path / "one", kContents, 2);
  CHECK(market.upload(scratch.path / "one").fault.code == "lacks_frames");
  CHECK(market.count("PUT") == 0);
  market.chunks[ChunkName::of("c").hex()] = "c";
  CHECK_FALSE(market.upload(scratch.path / "one").fault);
}

TEST_CASE("an upload that is not needed any more ends before its next chunk") {
  const ScratchFolder scratch;
  CheckpointMarket market;
  write_checkpoint(scratch.path / "one", kContents);
  market.control.cancelled = true;
  CHECK(market.upload(scratch.path / "one").fault.code == "cancelled");
  CHECK(market.count("PUT") == 0);
}

TEST_CASE("hostile files of checkpoints are refused with a reason, and nothing else happens") {
  const ScratchFolder scratch;
  CheckpointMarket market;
  const auto file = scratch.path / "one";
  CHECK(market.upload(file).fault.code == "no_file");
  std::ofstream{file} << "no checkpoint";
  CHECK(market.upload(file).fault.code == "damaged");
  write_checkpoint(file, kContents);
  fs::resize_file(file, fs::file_size(file) - 1);
  CHECK(market.upload(file).fault.code == "damaged");
  fs::remove(file);
  fs::create_symlink("/etc/passwd", file);
  CHECK(market.upload(file).fault.code == "no_file");
  fs::remove(file);
  // Frames that do not contain what their names say.
  {
    const Descriptor opened{::open(file.c_str(), O_WRONLY | O_CREAT, 0600)};
    CheckpointFileWriter writer{opened.get()};
    writer.add(name_of_chunk("a"), 1, zstd_compress("b"));
    REQUIRE(writer.finish(encode(CheckpointManifest{.r_version = "4.5.0", .architecture = "x86_64"})));
  }
  CHECK(market.upload(file).fault.code == "invalid_field");
  CHECK(market.chunks.empty());
}

TEST_CASE("answers that are no answers of a market end a transfer with a fault") {
  const ScratchFolder scratch;
  write_checkpoint(scratch.path / "one", kContents);
  for (const std::string body : {"", "no JSON", "[]", "{}", R"({"missing": 7})", R"({"missing": [7]})"}) {
    CAPTURE(body);
    CheckpointMarket market;
    market.instead["POST /blob/missing"] = {200, body};
    CHECK(market.upload(scratch.path / "one").fault);
    market.instead.clear();
    const auto upload = market.upload(scratch.path / "one");
    market.instead["POST /job"] = {201, body};
    CHECK(market.record(record_of(upload)).fault);
    market.instead = {{"GET /job", {200, body}}};
    const auto fetched = market.fetch(guest_in(scratch.path));
    CHECK((fetched.fault || (body == "[]" && fetched.report.sequence == 0)));
    CHECK_FALSE(fetched.from);
  }
}

TEST_CASE("the market is told what the file, the guest and the attempt say about a checkpoint") {
  const ScratchFolder scratch;
  CheckpointMarket market;
  keep(market, scratch.path, kContents);
  REQUIRE(market.recorded.size() == 1);
  const auto& body = market.recorded[0];
  CHECK(body.at("number") == 1);
  CHECK(body.at("format") == kCheckpointFormat);
  CHECK(body.at("r_version") == "4.5.0");
  CHECK(body.at("packages") == nlohmann::json{"MASS 7.3-65"});
  CHECK(body.at("position") == nlohmann::json{{"file", "main.R"}, {"line", 12}, {"call", "fit"}});
  CHECK(body.at("size_bytes") == 300'001);
  CHECK(body.at("attempt_cpu_ms") == 8100);
  CHECK(body.at("interval_ms") == 293'000);
  CHECK(body.at("pause_ms") == 12.5);
  CHECK(body.at("watched") == nlohmann::json{{"x", 57}, {"y", 0}});
  CHECK(body.at("progress") == nlohmann::json{{"fraction", 0.5}, {"message", "half?"}});
  CHECK(body.at("log_left_out") == 7);
  CHECK(market.chunks.at(body.at("log")) == "said so far");
  CHECK(body.at("chunks").size() == 1 + kContents.size());
}

TEST_CASE("notes and reports are sent as the market reads them") {
  CheckpointMarket market;
  CHECK_FALSE(send_checkpoint_note(*market.rest, market.credentials, {293'000, "within optim()"}));
  CHECK(market.posted["/checkpoint/note"] ==
        nlohmann::json{{"interval_ms", 293'000}, {"problem", "within optim()"}});
  CHECK_FALSE(send_checkpoint_note(*market.rest, market.credentials, {293'000, ""}));
  CHECK(market.posted["/checkpoint/note"].at("problem").is_null());
  CHECK_FALSE(send_resume_report(*market.rest, market.credentials, {5, {{7, "another R"}}}));
  CHECK(market.posted["/resume"] ==
        nlohmann::json{{"sequence", 5},
                       {"skipped", nlohmann::json::array({{{"sequence", 7}, {"reason", "another R"}}})}});
}

// --- fetching

TEST_CASE("another machine gets the newest checkpoint, with its log and its watched variables") {
  const ScratchFolder scratch;
  CheckpointMarket market;
  keep(market, scratch.path, {"older"});
  keep(market, scratch.path, kContents);
  const auto fetched = market.fetch(guest_in(scratch.path));
  REQUIRE_FALSE(fetched.fault);
  CHECK(fetched.report.sequence == 2);
  CHECK(fetched.report.skipped.empty());
  REQUIRE(fetched.from);
  CHECK(fetched.from->log == "said so far");
  CHECK(fetched.from->log_left_out == 7);
  REQUIRE(fetched.from->watched.size() == 1);
  CHECK(fetched.from->watched.at(1).kind == WatchedKind::value);
  CHECK(fetched.from->watched.at(1).hash == "\x01hash");
  const Descriptor opened{::open(fetched.from->file.c_str(), O_RDONLY)};
  const auto file = CheckpointFile::open(opened.get());
  REQUIRE(file);
  CHECK(file->is_whole());
  CHECK(file->manifest().call == "fit");
  for (std::size_t i = 0; i < kContents.size(); ++i) CHECK(file->contents(i) == kContents[i]);
}

TEST_CASE("one that was skipped, or that this machine cannot resume, gives way to the one before it") {
  const ScratchFolder scratch;
  CheckpointMarket market;
  for (const char* contents : {"one", "two", "three"}) keep(market, scratch.path, {contents});
  market.recorded[1]["architecture"] = "pdp11";
  const MachineSoftware machine{
      .r_version = "4.5.1", .architecture = "x86_64", .packages = {{"MASS", "7.3-65"}}};
  const auto fetched = market.fetch(guest_in(scratch.path), {{3, "it ended"}}, machine);
  REQUIRE_FALSE(fetched.fault);
  CHECK(fetched.report.sequence == 1);
  REQUIRE(fetched.report.skipped.size() == 2);
  CHECK(fetched.report.skipped[0].reason == "it ended");
  CHECK(fetched.report.skipped[1].sequence == 2);
  CHECK(fetched.report.skipped[1].reason.contains("pdp11"));
}

TEST_CASE(
    "chunks that are missing, damaged, exchanged or forged skip the checkpoint, down to a fresh start") {
  const ScratchFolder scratch;
  const auto reason_after = [&](auto change) {
    CheckpointMarket market;
    keep(market, scratch.path, kContents);
    change(market, market.recorded[0]);
    const auto fetched = market.fetch(guest_in(scratch.path));
    CHECK_FALSE(fetched.fault);
    CHECK(fetched.report.sequence == 0);
    CHECK_FALSE(fetched.from);
    CHECK_FALSE(fs::exists(scratch.path / "resume"));
    REQUIRE(fetched.report.skipped.size() == 1);
    return fetched.report.skipped[0].reason;
  };
  const auto name_of_b = ChunkName::of(kContents[1]).hex();
  CHECK_FALSE(reason_after([&](auto& market, auto&) { market.chunks.erase(name_of_b); }).empty());
  CHECK(reason_after([&](auto& market, auto&) { market.chunks[name_of_b] = "other"; }).contains("damaged"));
  CHECK_FALSE(reason_after([](auto&, auto& entry) { entry["chunks"] = nlohmann::json::array(); }).empty());
  CHECK_FALSE(reason_after([](auto&, auto& entry) { entry["chunks"] = {"../../x"}; }).empty());
  CHECK_FALSE(reason_after([](auto&, auto& entry) { entry["chunks"] = 7; }).empty());
  CHECK_FALSE(reason_after([](auto&, auto& entry) { entry["chunks"].erase(0); }).empty());  // no head
  CHECK_FALSE(reason_after([](auto&, auto& entry) { entry["chunks"] = {entry["chunks"][0]}; }).empty());
  CHECK_FALSE(reason_after([](auto&, auto& entry) { entry["log"] = "no name"; }).empty());
  CHECK(reason_after([](auto&, auto& entry) {
          entry["chunks"] =
              std::vector<std::string>(limits::kCheckpointChunksMax + 1, ChunkName::of("").hex());
        }).contains("chunks"));
  CHECK(reason_after([](auto& market, auto& entry) {
          const auto forged = nlohmann::json{{"head", 1}, {"manifest", "{}"}, {"watched", {{"x", 1}}}}.dump();
          entry["chunks"][0] = ChunkName::of(forged).hex();
          market.chunks[ChunkName::of(forged).hex()] = forged;
        }).contains("head"));
}

TEST_CASE(
    "a checkpoint larger than the job's memory and disc is not fetched, whatever its size is said to be") {
  const ScratchFolder scratch;
  CheckpointMarket market;
  keep(market, scratch.path, std::vector<std::string>(3, std::string(limits::kChunkBytesMax, 'a')));
  market.recorded[0]["size_bytes"] = 1;
  auto guest = guest_in(scratch.path);
  guest.limits.ram_mb = 1;
  guest.limits.disc_mb = 1;
  const auto fetched = market.fetch(guest);
  CHECK(fetched.report.sequence == 0);
  REQUIRE(fetched.report.skipped.size() == 1);
  CHECK(fetched.report.skipped[0].reason.contains("larger"));
  guest.limits.disc_mb = 2;
  CHECK(market.fetch(guest).report.sequence == 1);
}

TEST_CASE("a market that cannot be reached while a checkpoint is fetched is a fault, and skips none") {
  const ScratchFolder scratch;
  CheckpointMarket market;
  keep(market, scratch.path, kContents);
  market.instead["GET /blob/"] = {503, R"({"code": "busy"})"};
  const auto fetched = market.fetch(guest_in(scratch.path));
  CHECK(fetched.fault.code == "busy");
  CHECK_FALSE(fetched.from);
  market.instead.clear();
  market.dies_after = 3;
  CHECK(market.fetch(guest_in(scratch.path)).fault.code == "no_answer");
  market.dies_after = SIZE_MAX;
  CHECK(market.fetch(guest_in(scratch.path)).report.sequence == 1);
}

TEST_CASE("a full disc of this machine is a fault, and skips no checkpoint") {
  const ScratchFolder scratch;
  CheckpointMarket market;
  keep(market, scratch.path, {std::string(1 << 20, 'a'), std::string(1 << 20, 'b')});
  Descriptor small;
  try {
    small = mount_tmpfs(64 << 10, 100);
  } catch (const std::system_error&) {
    MESSAGE("this user can mount nothing");
    return;
  }
  // Bytes that do not compress.
  std::string noise(1 << 20, '\0');
  for (std::size_t i = 0; i < noise.size(); ++i) noise[i] = static_cast<char>((i * 2654435761U) >> 13);
  keep(market, scratch.path, {noise});
  const fs::path folder{"/proc/self/fd/" + std::to_string(small.get())};
  const auto fetched = market.fetch(guest_in(folder));
  CHECK(fetched.fault.code == "disk_full");
  CHECK_FALSE(fetched.from);
}

}  // namespace remotist::volunteer
