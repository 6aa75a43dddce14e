// volunteer-agent: lends this machine to a market. See --help, and docs/volunteer.md.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <curl/curl.h>
#include <exception>
#include <fstream>
#include <iostream>
#include <termios.h>
#include <unistd.h>

#include "core/digest.h"
#include "core/json.h"
#include "core/log.h"
#include "core/process.h"
#include "volunteer/agent/agent.h"
#include "volunteer/agent/control.h"
#include "volunteer/agent/daemon.h"
#include "volunteer/agent/enrol.h"
#include "volunteer/agent/hardware.h"
#include "volunteer/agent/state_folder.h"
#include "volunteer/agent/status.h"
#include "volunteer/connection/address.h"
#include "volunteer/sandbox/protection_probe.h"

namespace {

using namespace remotist;
using namespace remotist::volunteer;

// Ends the program with an error that the owner can fix.
[[noreturn]] void refuse(const std::string& message) {
  throw std::runtime_error{message};
}

// From a terminal without echo, or the first line of standard input or of a file.
std::string read_password(const std::string& file) {
  std::string password;
  if (!file.empty()) {
    std::ifstream from{file};
    if (!std::getline(from, password)) refuse("no password could be read from " + file);
    return password;
  }
  const bool is_terminal = ::isatty(STDIN_FILENO) == 1;
  termios before{};
  if (is_terminal) {
    std::fputs("password: ", stderr);
    ::tcgetattr(STDIN_FILENO, &before);
    termios silent = before;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
  }
  std::getline(std::cin, password);
  if (is_terminal) {
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    std::fputc('\n', stderr);
  }
  if (password.empty()) refuse("no password was given");
  return password;
}

Login require_login(const StateFolder& state) {
  auto login = state.login();
  if (!login) refuse("you are not logged in: volunteer-agent login --url URL --email EMAIL");
  return std::move(*login);
}

struct LoginOptions {
  std::string url;
  std::string email;
  std::string password_file;
  std::string ca_file;
};

int run_login(const StateFolder& state, const LoginOptions& options) {
  if (const auto warning = plaintext_warning(options.url); !warning.empty())
    std::fprintf(stderr, "volunteer-agent: warning: %s\n", warning.c_str());
  const auto login =
      log_in(options.url, options.ca_file, options.email, read_password(options.password_file));
  state.store(login);
  std::printf("logged in at %s\nnext: volunteer-agent add-machine\n", login.url.c_str());
  return 0;
}

int run_add_machine(const StateFolder& state, MachineOffer offer) {
  const auto login = require_login(state);
  if (const auto machine = state.machine())
    refuse("this machine is lent already, as \"" + machine->name + "\": volunteer-agent start");
  const auto has = hardware_at(state.path());
  if (offer.cpu_cores == 0) offer.cpu_cores = has.cpu_cores;
  if (offer.ram_mb == 0) offer.ram_mb = has.ram_mb / 2;
  if (offer.disc_mb == 0) offer.disc_mb = has.disc_mb_free / 2;
  if (offer.cpu_cores > has.cpu_cores)
    refuse("this machine has " + std::to_string(has.cpu_cores) + " cores, so it cannot lend " +
           std::to_string(offer.cpu_cores));
  if (offer.ram_mb > has.ram_mb)
    refuse("this machine has only " + std::to_string(has.ram_mb) + " MB of memory");
  if (offer.disc_mb > has.disc_mb_free)
    refuse("only " + std::to_string(has.disc_mb_free) + " MB of this machine's disc are free");
  const auto machine = add_machine(login, offer);
  state.store(machine);
  std::printf(
      "machine %s: %lld cores, %lld MB of memory, %lld MB of disc, %g credits for an hour of a core\n"
      "next: volunteer-agent start\n",
      machine.id.text().c_str(), static_cast<long long>(offer.cpu_cores),
      static_cast<long long>(offer.ram_mb), static_cast<long long>(offer.disc_mb), offer.price);
  return 0;
}

struct StartOptions {
  AgentOptions agent;
  std::int64_t cache_mb = 1024;
  bool background = false;
  bool without_sandbox = false;
};

std::string missing_text(const std::vector<Protection>& protections) {
  std::string words;
  for (const auto& protection : protections) {
    if (protection.required && !protection.present)
      words += "  " + protection.name + ": " + protection.description + "\n";
  }
  return words;
}

int run_start(const StateFolder& state, StartOptions options) {
  const auto login = require_login(state);
  auto machine = state.machine();
  if (!machine) refuse("this machine is not lent yet: volunteer-agent add-machine");
  const auto lock = state.lock();
  if (!lock) refuse("an agent is running already: volunteer-agent status");
  if (options.without_sandbox) {
    options.agent.protections = Protections::none();
  } else if (const auto protections = probe_protections(); !can_sandbox(protections)) {
    refuse("this machine cannot isolate jobs, so it takes none. Missing:\n" + missing_text(protections) +
           "see volunteer-agent doctor");
  }
  start_volunteer(login, *machine, options.agent.token_may_be_plaintext);
  state.store(*machine);

  Daemon daemon{options.background, state.log()};
  if (daemon.is_parent()) return daemon.wait();
  options.agent.cache_bytes_max = options.cache_mb << 20;
  options.agent.on_ready = [&] { daemon.set_ready(); };
  const sigset_t signals = stop_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  try {
    const auto rejection = Agent{state, login, std::move(*machine), std::move(options.agent)}.run();
    clear_guests(state);
    if (rejection.empty()) return 0;
    daemon.set_failed(rejection);
    std::fprintf(stderr, "volunteer-agent: %s\n", rejection.c_str());
  } catch (const std::exception& fault) {
    daemon.set_failed(fault.what());
    throw;
  }
  return 1;
}

int run_stop(const StateFolder& state, bool now) {
  const auto answer = request_from_agent(state.control(), now ? "stop now" : "stop");
  if (!answer) {
    std::puts("no agent is running");
    return 0;
  }
  std::puts(
      now ? "stopping: running jobs are handed back"
          : "stopping: running jobs are handed over from a checkpoint; those without checkpoints may end "
            "within the grace period");
  // The agent holds the lock until it has exited.
  while (!state.lock()) ::usleep(50'000);
  std::puts("stopped");
  return 0;
}

int run_pause(const StateFolder& state, bool pause) {
  const auto answer = request_from_agent(state.control(), pause ? "pause" : "resume");
  if (!answer) {
    std::puts("no agent is running");
    return 3;
  }
  if (*answer == "paused")
    std::puts(
        "pausing: jobs are stopped once they have taken a checkpoint; volunteer-agent resume lets them go "
        "on");
  else if (*answer == "resumed")
    std::puts("jobs go on, and new ones are taken");
  else
    refuse("the agent stops and cannot be paused");
  return 0;
}

int run_status(const StateFolder& state, bool as_json) {
  const auto answer = request_from_agent(state.control(), "status");
  if (answer && !answer->empty()) {
    std::fputs(as_json ? (*answer + "\n").c_str() : status_report(*answer).c_str(), stdout);
    return 0;
  }
  std::puts(as_json ? "{\"running\": false}" : "no agent is running: volunteer-agent start");
  return 3;
}

int run_doctor(bool as_json) {
  const auto protections = probe_protections();
  const bool can = can_sandbox(protections);
  if (as_json) {
    auto document = nlohmann::json{{"can_sandbox", can}, {"protections", nlohmann::json::array()}};
    for (const auto& protection : protections) {
      document["protections"].push_back({{"name", protection.name},
                                         {"present", protection.present},
                                         {"required", protection.required},
                                         {"description", protection.description}});
    }
    std::puts(document.dump(2).c_str());
    return can ? 0 : 1;
  }
  for (const auto& protection : protections) {
    const char* mark = protection.present ? "yes    " : protection.required ? "MISSING" : "no     ";
    std::printf("%s  %-20s %s\n", mark, protection.name.c_str(), protection.description.c_str());
  }
  std::puts(can ? "\nThis machine can isolate jobs."
                : "\nThis machine cannot isolate jobs, and takes none: see MISSING above.");
  return can ? 0 : 1;
}

void add_start_options(CLI::App& command, StartOptions& start) {
  command.add_flag("--background", start.background, "run as a daemon; return when jobs can be run");
  command
      .add_option("--grace", start.agent.grace_seconds,
                  "seconds for handing jobs over after a stop, and for those without checkpoints to end")
      ->capture_default_str()
      ->check(CLI::Range(0, 86'400));
  command.add_option("--cache", start.cache_mb, "MB of fetched data to keep for later jobs")
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 20));
  command
      .add_option("--checkpoint-mb-per-s", start.agent.checkpoint_mb_per_s,
                  "MB a second that uploads of checkpoints may use")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 100'000.0));
  command
      .add_option("--battery-percent-min", start.agent.battery_percent_min,
                  "percent of the battery below which jobs are handed over while it discharges")
      ->capture_default_str()
      ->check(CLI::Range(0, 100));
  command
      .add_option("--pause-minutes-max", start.agent.pause_minutes_max,
                  "minutes after which the jobs of a paused agent are handed over")
      ->capture_default_str()
      ->check(CLI::Range(1, 1440));
  command.add_option("--runner", start.agent.runner, "the program that runs R")->check(CLI::ExistingFile);
  command.add_flag("--run-strangers-code-without-sandbox", start.without_sandbox,
                   "what it says: any job can then read, change and delete whatever you can");
  command.add_flag(
      "--send-machine-token-as-plain-text", start.agent.token_may_be_plaintext,
      "what it says: connect even where the market, reached over https://, wants the socket at ws://");
}

std::filesystem::path beside_this_program(const char* name) {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
}

}  // namespace

int main(int argc, char** argv) {
  crypto_start();
  std::signal(SIGPIPE, SIG_IGN);
  curl_global_init(CURL_GLOBAL_DEFAULT);

  CLI::App app{"Lends this machine to a RemotIST market: runs strangers' R jobs in a sandbox."};
  app.require_subcommand(1);
  std::string folder;
  app.add_option(
      "--state", folder,
      "where the agent keeps its files (default: ~/.local/state/remotist; root: /var/lib/remotist)");

  LoginOptions login;
  auto* login_command = app.add_subcommand(
      "login", "log in to a market; the password comes from the terminal, standard input or a file");
  login_command->add_option("--url", login.url, "the market's address")->required();
  login_command->add_option("--email", login.email)->required();
  login_command->add_option("--password-file", login.password_file,
                            "a file whose first line is the password");
  login_command->add_option("--ca-file", login.ca_file, "certificate of a private authority")
      ->check(CLI::ExistingFile);

  MachineOffer offer{.name = {}, .cpu_cores = 0, .ram_mb = 0, .disc_mb = 0, .price = 1};
  auto* add_command = app.add_subcommand("add-machine", "lend this machine, or a part of it");
  add_command->add_option("--name", offer.name, "what its owner calls it (default: the host's name)");
  add_command->add_option("--cpu", offer.cpu_cores, "cores (default: all)")->check(CLI::Range(1, 256));
  add_command->add_option("--ram", offer.ram_mb, "MB of memory (default: half)")
      ->check(CLI::Range(64, 4 << 20));
  add_command->add_option("--disc", offer.disc_mb, "MB of disc (default: half of what is free)")
      ->check(CLI::Range(1, 16 << 20));
  add_command->add_option("--price", offer.price, "credits for an hour of one core")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);

  StartOptions start;
  start.agent.runner = beside_this_program("remotist-runner");
  auto* start_command = app.add_subcommand("start", "take jobs until `stop`, or until a signal");
  add_start_options(*start_command, start);

  bool stop_now = false;
  auto* stop_command = app.add_subcommand("stop", "hand over or finish running jobs, and exit");
  stop_command->add_flag("--now", stop_now, "hand back at once");
  auto* pause_command = app.add_subcommand("pause", "stop computing for a while, and take no jobs");
  auto* resume_command = app.add_subcommand("resume", "go on after a pause");
  bool as_json = false;
  auto* status_command =
      app.add_subcommand("status", "what the agent is doing; exit status 3 when none is running");
  status_command->add_flag("--json", as_json);
  auto* doctor_command = app.add_subcommand(
      "doctor", "which protections the sandbox has here; exit status 1 when jobs cannot be isolated");
  doctor_command->add_flag("--json", as_json);
  CLI11_PARSE(app, argc, argv);

  try {
    if (doctor_command->parsed()) return run_doctor(as_json);
    const StateFolder state{folder.empty() ? StateFolder::default_path() : std::filesystem::path{folder}};
    if (login_command->parsed()) return run_login(state, login);
    if (add_command->parsed()) {
      if (offer.name.empty()) offer.name = host_name();
      return run_add_machine(state, offer);
    }
    if (start_command->parsed()) return run_start(state, std::move(start));
    if (stop_command->parsed()) return run_stop(state, stop_now);
    if (pause_command->parsed() || resume_command->parsed()) return run_pause(state, pause_command->parsed());
    return run_status(state, as_json);
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "volunteer-agent: %s\n", fault.what());
    return 1;
  }
}
