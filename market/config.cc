#include "market/config.h"

#include <climits>

#include "core/credits.h"
#include "core/digest.h"

namespace remotist::market {

Config read_config(ConfigReader::Values values, std::vector<std::string>& mistakes) {
  Config config;
  ConfigReader reader{"REMOTIST_MARKET_", std::move(values)};
  reader.text("DATABASE_URL", config.database_url);
  config.database_url_is_secret = reader.secret_file("DATABASE_URL_FILE", config.database_url);
  reader.choice("LOG_LEVEL", config.log_level, {"debug", "info", "warn", "error"});
  reader.secret("AMQP_URL", config.amqp_url);
  reader.text("LISTEN_ADDRESS", config.listen_address);
  reader.number("LISTEN_PORT", config.listen_port, 1, 65535);
  reader.number("SOCKET_PORT", config.socket_port, 1, 65535);
  reader.text("SOCKET_URL", config.socket_url);
  reader.number("SOCKETS_MAX", config.sockets_max, 1, 1'000'000);
  reader.number("BEAT_MS", config.beat_ms, 100, 60'000);
  reader.number("LOSS_HOURS_MEAN", config.loss_hours_mean, 1, 8'784);
  reader.flag("BEHIND_TLS_PROXY", config.behind_tls_proxy);
  reader.list("TRUSTED_PROXIES", config.trusted_proxies);
  reader.number("CONNECTIONS_MAX", config.connections_max, 1, 1'000'000);
  reader.number("CONNECTIONS_PER_ADDRESS_MAX", config.connections_per_address_max, 2, 1'000'000);
  reader.number("IDLE_CONNECTION_SECONDS_MAX", config.idle_connection_seconds_max, 1, 3600);
  reader.number("UNREAD_MB_MAX", config.unread_mb_max, 8, 1'000'000);
  reader.text("BLOB_DIR", config.blob_dir);
  reader.secret("STATEMENT_KEY", config.statement_key);
  reader.number("IO_THREADS", config.io_threads, 1, 64);
  reader.number("DATABASE_CONNECTIONS", config.database_connections, 1, 256);
  reader.number("DATABASE_QUEUE_MAX", config.database_queue_max, 1, 1'000'000);
  reader.number("CHUNK_THREADS", config.chunk_threads, 1, 64);
  reader.number("CHUNK_QUEUE_MAX", config.chunk_queue_max, 1, 100'000);
  reader.number("HELD_SECONDS_MAX", config.held_seconds_max, 1, 3600);
  reader.number("PASSWORD_THREADS", config.password_threads, 1, 64);
  reader.number("JOBS_PER_ACCOUNT_MAX", config.jobs_per_account_max, 1, 1'000'000'000);
  reader.number("UPLOADING_JOBS_PER_ACCOUNT_MAX", config.uploading_jobs_per_account_max, 1, 1'000'000'000);
  reader.number("SUBMISSIONS_PER_ACCOUNT_HOUR_MAX", config.submissions_per_account_hour_max, 1,
                1'000'000'000);
  reader.number("COLLECT_SECONDS", config.collect_seconds, 1, 86'400);
  reader.number("AUDIT_DAYS", config.audit_days, 1, 36'500);
  reader.choice("REGISTRATION", config.registration, {"open", "invitation", "closed"});
  reader.number("REGISTRATIONS_PER_ADDRESS_HOUR_MAX", config.registrations_per_address_hour_max, 0,
                1'000'000'000);
  reader.number("GRANT_MICROCREDITS", config.grant_microcredits, 0, Credits::kCreditsMicroMax);
  reader.number("LOGIN_SECONDS", config.login_seconds, 60, std::int64_t{366} * 86'400);
  reader.number("MACHINE_TOKEN_SECONDS", config.machine_token_seconds, 60, std::int64_t{366} * 86'400);

  mistakes = reader.mistakes();
  if (!config.statement_key.empty() && !bytes_of_hex(config.statement_key, SigningKey::kSeedBytes)) {
    mistakes.push_back(
        "REMOTIST_MARKET_STATEMENT_KEY_FILE must hold 64 lower-case hexadecimal digits, such as openssl rand "
        "-hex 32 prints");
  }
  if (config.socket_url.empty()) {
    config.socket_url =
        "ws://" + config.listen_address + ":" + std::to_string(config.socket_port) + "/volunteer/socket";
  } else if (!config.socket_url.starts_with("ws://") && !config.socket_url.starts_with("wss://")) {
    mistakes.push_back("REMOTIST_MARKET_SOCKET_URL must begin with ws:// or wss://");
  }
  const bool loopback = config.listen_address.starts_with("127.") || config.listen_address == "::1";
  if (!loopback && !config.behind_tls_proxy) {
    mistakes.push_back(
        "REMOTIST_MARKET_LISTEN_ADDRESS=" + config.listen_address +
        " can be reached from other machines, and the market has no TLS of its own: put it behind a TLS "
        "proxy and set REMOTIST_MARKET_BEHIND_TLS_PROXY=true");
  }
  return config;
}

}  // namespace remotist::market
