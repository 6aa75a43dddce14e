#include "worker/config.h"

namespace remotist::worker {

Config read_config(ConfigReader::Values values, std::vector<std::string>& mistakes) {
  Config config;
  ConfigReader reader{"REMOTIST_WORKER_", std::move(values)};
  reader.text("DATABASE_URL", config.database_url);
  config.database_url_is_secret = reader.secret_file("DATABASE_URL_FILE", config.database_url);
  reader.secret("AMQP_URL", config.amqp_url);
  reader.choice("LOG_LEVEL", config.log_level, {"debug", "info", "warn", "error"});
  reader.number("ACCEPT_MS", config.accept_ms, 100, 600'000);
  reader.number("REAP_MS", config.reap_ms, 10, 60'000);
  reader.number("SCAN_MS", config.scan_ms, 10, 5'000);
  reader.number("RESERVE_AFTER_SECONDS", config.reserve_after_seconds, 0, 86'400);
  mistakes = reader.mistakes();
  if (config.amqp_url.empty()) mistakes.emplace_back("REMOTIST_WORKER_AMQP_URL_FILE must be set");
  return config;
}

}  // namespace remotist::worker
