#include "bench/agent_load/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>

#include "core/digest.h"
#include "core/limits.h"

namespace remotist::bench {
namespace {

constexpr auto kAbout =
    "Simulates lent machines against a running market: the agent's own sessions, with jobs that compute "
    "nothing and give results that a checker can recompute (bench/agent_load/output.h). Ends after "
    "--seconds, --until-completed, SIGTERM or "
    "SIGINT, and prints one JSON object.";

constexpr std::int64_t kMsMax = 24LL * 3600 * 1000;
constexpr std::int64_t kResultBytesMax = 1 << 30;

void add_place(CLI::App& app, RunOptions& run) {
  app.add_option("--machines", run.machines_file, "a file of lines \"<machine id> <machine token>\"")
      ->type_name("FILE");
  app.add_option("--socket-url", run.socket_url, "ws://HOST:PORT/volunteer/socket, or wss://")
      ->type_name("URL");
  app.add_option("--url", run.url, "http://HOST:PORT for REST; needed when results go as chunks")
      ->type_name("URL");
  app.add_option("--ca-file", run.ca_file, "trust these certificates instead of the system's")
      ->type_name("FILE");
}

void add_work(CLI::App& app, Behaviour& behaviour) {
  const CLI::Range ms{std::int64_t{0}, kMsMax};
  app.add_option("--job-ms", behaviour.job_ms, "how long a job runs")->check(ms)->capture_default_str();
  app.add_option("--job-ms-max", behaviour.job_ms_max, "each job runs from --job-ms to this, uniformly")
      ->check(ms);
  app.add_option("--result-bytes", behaviour.result_bytes, "of each result; above 128 KiB it goes as chunks")
      ->check(CLI::Range(std::int64_t{0}, kResultBytesMax))
      ->capture_default_str();
  app.add_flag("--chunks", behaviour.chunks, "small results go as chunks too");
  app.add_option("--renew-seconds", behaviour.renew_seconds,
                 "ask for a new machine token so often (0: never)")
      ->check(CLI::Range(std::int64_t{0}, kMsMax / 1000))
      ->capture_default_str();
}

void add_misbehaviour(CLI::App& app, Behaviour& behaviour) {
  const CLI::Range chance{0.0, 1.0};
  const CLI::Range ms{std::int64_t{0}, kMsMax};
  const auto add = [&](const char* name, auto& into, const CLI::Range& range, const char* about) {
    app.add_option(name, into, about)->check(range)->capture_default_str()->group("Misbehaviour");
  };
  add("--lose", behaviour.lose, chance, "drop an accepted attempt without a report");
  add("--lie", behaviour.lie, chance,
      "send a false outcome: a wrong token, another attempt's number, the outcome twice, or "
      "absurd CPU time");
  add("--refuse", behaviour.refuse, chance, "refuse an assignment");
  add("--handback", behaviour.handback, chance, "hand a job back instead of completing it");
  add("--fail", behaviour.fail, chance, "fail with r_error instead of completing");
  add("--delay-accept-ms", behaviour.delay_accept_ms, ms,
      "handle an assignment, and the messages after it, so much later");
  add("--delay-outcome-ms", behaviour.delay_outcome_ms, ms, "wait before delivering a result");
  add("--vanish", behaviour.vanish, chance, "a second and machine: close the socket without a close frame");
  add("--vanish-ms", behaviour.vanish_ms, ms, "reconnect after so long at the earliest");
  add("--amnesia", behaviour.amnesia, chance, "of a vanishing: reconnect without the attempts");
  add("--freeze", behaviour.freeze, chance, "a second and machine: neither read nor write for a while");
  add("--freeze-ms", behaviour.freeze_ms, ms, "for so long");
}

void add_end(CLI::App& app, RunOptions& run) {
  app.add_option("--seconds", run.seconds, "end after so long (0: never)")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app.add_option("--until-completed", run.until_completed,
                 "end when so many completed outcomes are acknowledged (0: never)")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
      ->capture_default_str();
  app.add_flag("--rude", run.rude, "leave without goodbye");
  app.add_option("--journal", run.journal_file, "append what happened (bench/agent_load/journal.h)")
      ->type_name("FILE");
  app.add_flag("--journal-sync", run.journal_sync, "write each line at once, not every 50 ms");
  app.add_option("--seed", run.seed, "repeat an earlier run's chances (default: a new one, printed)")
      ->check(CLI::Range(std::uint64_t{1}, UINT64_MAX));
}

CLI::App* add_make(CLI::App& app, MakeOptions& make) {
  auto* command = app.add_subcommand(
      "make", "register machines and start their volunteers; prints the lines that --machines reads");
  command->add_option("--url", make.url, "http://HOST:PORT")->required()->type_name("URL");
  command->add_option("--ca-file", make.ca_file, "trust these certificates instead of the system's")
      ->type_name("FILE");
  command->add_option("--user-token-file", make.user_token_file, "holds the token of the machines' owner")
      ->required()
      ->type_name("FILE");
  command->add_option("--name", make.name, "what the machines' names begin with (default: by chance)");
  const auto add = [&](const char* name, std::int64_t& into, std::int64_t least, std::int64_t most,
                       const char* about) {
    command->add_option(name, into, about)->check(CLI::Range(least, most))->capture_default_str();
  };
  add("--machines", make.machines, 1, limits::kMachinesPerAccountMax, "how many");
  add("--cores", make.cores, 1, limits::kCpuCoresMax, "of each");
  add("--ram-mb", make.ram_mb, limits::kRamMbMin, limits::kRamMbMax, "of each");
  add("--disc-mb", make.disc_mb, limits::kDiscMbMin, limits::kDiscMbMax, "of each");
  command->add_option("--price", make.price, "credits for an hour of one CPU")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  return command;
}

bool begins_with_one_of(const std::string& text, std::initializer_list<const char*> beginnings) {
  return std::ranges::any_of(beginnings, [&](const char* beginning) { return text.starts_with(beginning); });
}

std::vector<std::string> mistakes_in(const CLI::App& app, const RunOptions& run) {
  std::vector<std::string> mistakes;
  const auto require = [&](bool right, const char* mistake) {
    if (!right) mistakes.emplace_back(mistake);
  };
  const auto& behaviour = run.behaviour;
  require(!run.machines_file.empty(), "--machines is missing: make such a file with `agent_load make`");
  require(begins_with_one_of(run.socket_url, {"ws://", "wss://"}),
          "--socket-url must be given and begin with ws:// or wss://");
  require(run.url.empty() || begins_with_one_of(run.url, {"http://", "https://"}),
          "--url must begin with http:// or https://");
  require(!run.url.empty() || !behaviour.uploads(),
          "--url is missing: results above 128 KiB, and all with --chunks, go over REST");
  require(behaviour.job_ms_max >= behaviour.job_ms, "--job-ms-max must not be less than --job-ms");
  require(behaviour.fail + behaviour.handback <= 1, "--fail and --handback must not be above 1 together");
  require(behaviour.vanish > 0 || (app.count("--vanish-ms") == 0 && app.count("--amnesia") == 0),
          "--vanish-ms and --amnesia say how machines vanish: give --vanish too");
  require(behaviour.freeze > 0 || app.count("--freeze-ms") == 0,
          "--freeze-ms says how long machines freeze: give --freeze too");
  require(!run.journal_sync || !run.journal_file.empty(), "--journal-sync needs --journal");
  return mistakes;
}

std::uint64_t new_seed() {
  std::uint64_t seed = 0;
  const auto bytes = random_bytes(sizeof seed);
  std::memcpy(&seed, bytes.data(), sizeof seed);
  return std::max<std::uint64_t>(seed >> 16, 1);
}

ExitMessage mistaken(const std::vector<std::string>& mistakes) {
  std::string text = "agent_load: the options are not right (try --help):\n";
  for (const auto& mistake : mistakes) text += "  " + mistake + "\n";
  return {2, text};
}

}  // namespace

bool Behaviour::uploads() const {
  return chunks || result_bytes > limits::kOutcomeBytesMax;
}

std::variant<RunOptions, MakeOptions, ExitMessage> read_options(std::vector<std::string> arguments) {
  CLI::App app{kAbout, "agent_load"};
  RunOptions run;
  MakeOptions make;
  add_place(app, run);
  add_work(app, run.behaviour);
  add_end(app, run);
  add_misbehaviour(app, run.behaviour);
  const auto* make_command = add_make(app, make);
  app.get_formatter()->column_width(30);

  std::ranges::reverse(arguments);  // as CLI11 wants them
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return ExitMessage{0, app.help()};
  } catch (const CLI::ParseError& fault) {
    return mistaken({fault.what()});
  }
  if (make_command->parsed()) {
    if (!begins_with_one_of(make.url, {"http://", "https://"}))
      return mistaken({"--url must begin with http:// or https://"});
    return make;
  }
  if (app.count("--job-ms-max") == 0) run.behaviour.job_ms_max = run.behaviour.job_ms;
  if (const auto mistakes = mistakes_in(app, run); !mistakes.empty()) return mistaken(mistakes);
  if (run.seed == 0) run.seed = new_seed();
  return run;
}

}  // namespace remotist::bench
