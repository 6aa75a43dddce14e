// remotist-worker: takes hints from RabbitMQ, matches waiting jobs to machines, and requeues the jobs of lost
// machines.
#include <CLI/CLI.hpp>
#include <csignal>
#include <iostream>
#include <thread>

#include "core/amqp/consumer.h"
#include "core/amqp/queues.h"
#include "core/digest.h"
#include "core/log.h"
#include "core/periodic.h"
#include "core/pg/migrate.h"
#include "core/pg/url.h"
#include "core/process.h"
#include "worker/config.h"
#include "worker/consumer/dispatcher.h"
#include "worker/consumer/reaper.h"

namespace {

using namespace remotist;

worker::Config load_config(const std::string& file) {
  std::vector<std::string> mistakes;
  auto config =
      worker::read_config(file.empty() ? ConfigReader::environment() : ConfigReader::file(file), mistakes);
  pg::check_setting("REMOTIST_WORKER_", config.database_url, config.database_url_is_secret, mistakes);
  require_no_mistakes(mistakes);
  return config;
}

std::vector<amqp::Decision> dispatch(worker::Dispatcher& dispatcher, std::span<const amqp::Delivered> batch) {
  queue::Ready hints;
  for (const auto& message : batch) worker::read_hint(message.body, hints);
  dispatcher.dispatch(hints);
  return std::vector(batch.size(), amqp::Decision::ack);
}

void work(const worker::Config& config) {
  std::signal(SIGPIPE, SIG_IGN);
  const sigset_t signals = stop_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  pg::await_schema(config.database_url);

  const std::chrono::seconds reserve_after{config.reserve_after_seconds};
  worker::Dispatcher dispatcher{config.database_url, config.amqp_url, reserve_after};
  const std::chrono::milliseconds reap_time{config.reap_ms};
  worker::Reaper reaper{config.database_url,
                        {.accept_time = std::chrono::milliseconds{config.accept_ms}, .interval = reap_time}};
  amqp::Consumer consumer{
      amqp::Address::of(config.amqp_url), {.queue = amqp::kJobsReady}, amqp::declare_queues};

  std::stop_source stop;
  std::jthread stopper{[&] {
    int signal = 0;
    sigwait(&signals, &signal);
    log::info("worker_stopping", {{"signal", signal}});
    stop.request_stop();
    dispatcher.stop();
  }};
  const Periodic reaping{"reap", reap_time, [&](const std::stop_token&) { reaper.run_once(); }};
  const Periodic scanning{"scan", std::chrono::milliseconds{config.scan_ms},
                          [&](const std::stop_token&) { dispatcher.scan(); }};
  log::info("worker_started");
  consumer.run([&](std::span<const amqp::Delivered> batch) { return dispatch(dispatcher, batch); },
               stop.get_token());
  log::info("worker_stopped");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"The RemotIST worker. Settings: environment variables REMOTIST_WORKER_… (docs/operations.md)"};
  std::string config_file;
  app.add_option("--config", config_file, "a file of REMOTIST_WORKER_…=… lines instead of the environment");
  CLI11_PARSE(app, argc, argv);

  crypto_start();
  try {
    const auto config = load_config(config_file);
    log::set_level(*log::level_named(config.log_level));
    work(config);
    return 0;
  } catch (const std::exception& fault) {
    std::cerr << "remotist-worker: " << fault.what() << '\n';
    return 1;
  }
}
