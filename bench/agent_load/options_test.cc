#include "bench/agent_load/options.h"

#include <doctest/doctest.h>

#include "core/limits.h"

namespace remotist::bench {
namespace {

using Arguments = std::vector<std::string>;

const Arguments kEnough{"--machines", "m", "--socket-url", "ws://h/volunteer/socket"};

Arguments with(Arguments more) {
  Arguments all = kEnough;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

RunOptions run_options(const Arguments& more) {
  const auto read = read_options(with(more));
  REQUIRE(std::holds_alternative<RunOptions>(read));
  return std::get<RunOptions>(read);
}

// What is said about options that are not right.
std::string mistake(const Arguments& arguments) {
  const auto read = read_options(arguments);
  if (!std::holds_alternative<ExitMessage>(read)) return "taken";
  CHECK(std::get<ExitMessage>(read).exit_status == 2);
  return std::get<ExitMessage>(read).text;
}

bool names(const std::string& text, const char* option) {
  return text.find(option) != std::string::npos;
}

}  // namespace

TEST_CASE("machines and a socket's address are enough to run") {
  const auto options = run_options({});
  CHECK(options.machines_file == "m");
  CHECK(options.behaviour.job_ms == 0);
  CHECK(options.behaviour.job_ms_max == 0);
  CHECK(options.seed != 0);
  CHECK(run_options({"--seed", "7"}).seed == 7);
}

TEST_CASE("jobs run for one time unless a longer one is given too") {
  CHECK(run_options({"--job-ms", "20"}).behaviour.job_ms_max == 20);
  CHECK(run_options({"--job-ms", "20", "--job-ms-max", "50"}).behaviour.job_ms_max == 50);
  CHECK(names(mistake(with({"--job-ms", "20", "--job-ms-max", "10"})), "--job-ms-max"));
}

TEST_CASE("what is missing is named") {
  CHECK(names(mistake({}), "--machines"));
  CHECK(names(mistake({}), "--socket-url"));
  CHECK(names(mistake({"--machines", "m", "--socket-url", "http://h/"}), "--socket-url"));
  CHECK(names(mistake({"make", "--url", "http://h"}), "--user-token-file"));
}

TEST_CASE("results that go over REST need an address for it") {
  CHECK(names(mistake(with({"--chunks"})), "--url"));
  const auto inline_max = std::to_string(limits::kOutcomeBytesMax);
  CHECK_FALSE(run_options({"--result-bytes", inline_max}).behaviour.uploads());
  const auto above = std::to_string(limits::kOutcomeBytesMax + 1);
  CHECK(names(mistake(with({"--result-bytes", above})), "--url"));
  CHECK(run_options({"--result-bytes", above, "--url", "http://h"}).behaviour.uploads());
}

TEST_CASE("an option that is unknown or out of range is refused by its name") {
  CHECK(names(mistake(with({"--loose", "1"})), "--loose"));
  for (const char* option :
       {"--lose", "--lie", "--refuse", "--handback", "--fail", "--vanish", "--amnesia", "--freeze"}) {
    CAPTURE(option);
    CHECK(names(mistake(with({option, "1.5"})), option));
    CHECK(names(mistake(with({option, "-0.1"})), option));
    CHECK(names(mistake(with({option, "often"})), option));
  }
  CHECK(names(mistake(with({"--delay-accept-ms", "-1"})), "--delay-accept-ms"));
  CHECK(names(mistake(with({"--seconds", "-1"})), "--seconds"));
  CHECK(names(mistake(with({"--seed", "0"})), "--seed"));
  CHECK(names(mistake(with({"--url", "h"})), "--url"));
}

TEST_CASE("options that mean nothing without another are refused") {
  CHECK(names(mistake(with({"--vanish-ms", "5"})), "--vanish"));
  CHECK(names(mistake(with({"--amnesia", "0.5"})), "--vanish"));
  CHECK(names(mistake(with({"--freeze-ms", "5"})), "--freeze"));
  CHECK(names(mistake(with({"--journal-sync"})), "--journal"));
  CHECK(names(mistake(with({"--fail", "0.6", "--handback", "0.6"})), "--handback"));
}

TEST_CASE("make has options of its own") {
  const auto read = read_options({"make", "--url", "http://h", "--user-token-file", "t", "--machines", "12",
                                  "--cores", "4", "--ram-mb", "2048", "--disc-mb", "5", "--price", "0.5"});
  REQUIRE(std::holds_alternative<MakeOptions>(read));
  const auto& make = std::get<MakeOptions>(read);
  CHECK(make.machines == 12);
  CHECK(make.cores == 4);
  CHECK(make.ram_mb == 2048);
  CHECK(make.disc_mb == 5);
  CHECK(make.price == 0.5);
  CHECK(names(mistake({"make", "--url", "http://h", "--user-token-file", "t", "--ram-mb", "1"}), "--ram-mb"));
}

TEST_CASE("help is no mistake") {
  const auto read = read_options({"--help"});
  REQUIRE(std::holds_alternative<ExitMessage>(read));
  CHECK(std::get<ExitMessage>(read).exit_status == 0);
  CHECK(names(std::get<ExitMessage>(read).text, "--until-completed"));
}

}  // namespace remotist::bench
