// How many requests a delivery takes.
#include <atomic>
#include <doctest/doctest.h>
#include <fstream>

#include "core/json.h"
#include "core/limits.h"
#include "volunteer/agent/scratch_folder.h"
#include "volunteer/agent/scripted_market.h"
#include "volunteer/agent/transfer.h"

namespace remotist::volunteer {
namespace {

namespace fs = std::filesystem;

// Accepts everything, and has no chunk.
std::optional<ScriptedMarket::Answer> answer_of_empty_market(const std::string& request,
                                                             const std::string& body) {
  if (request != "POST /blob/missing") return ScriptedMarket::Answer{};
  const auto asked = nlohmann::json::parse(body).at("chunks");
  return ScriptedMarket::Answer{200, nlohmann::json{{"missing", asked}}.dump()};
}

}  // namespace

TEST_CASE("ten thousand small files are asked for and named in few requests, and none is sent twice") {
  constexpr int kFiles = 10'000;
  constexpr int kContents = 50;
  const ScratchFolder scratch;
  const GuestSpec guest{.name = "guest", .folder = scratch.path};
  for (const char* folder : {kOutFolder, kWorkFolder}) fs::create_directories(scratch.path / folder);
  std::ofstream{scratch.path / kOutFolder / kResultFile} << "result";
  Verdict verdict;
  verdict.ending = Ending::completed;
  for (int i = 0; i < kFiles; ++i) {
    verdict.made.push_back("file-" + std::to_string(i));
    std::ofstream{scratch.path / kWorkFolder / verdict.made.back()} << i % kContents;
  }
  ScriptedMarket market{answer_of_empty_market};
  {
    const std::atomic<bool> stopping{false};
    Rest rest{market.url(), "", stopping};
    const auto delivery = deliver_job(rest, {"machine", {{JobId::make(), 1}, "attempt"}}, verdict, guest);
    CHECK_FALSE(delivery.fault);
    CHECK(delivery.small.size() == limits::kOutcomeFilesMax);
  }
  // 500 files at a time; the market of this test has forgotten the chunks by the next time.
  CHECK(market.count("POST /blob/missing") == 20);
  CHECK(market.count("POST /job/") == 20);
  CHECK(market.count("PUT /blob/") == 20 * kContents);
}

}  // namespace remotist::volunteer
