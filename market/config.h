// Settings of remotist-market: environment variables REMOTIST_MARKET_<NAME>, or the same lines in one file
// given with --config. docs/operations.md describes each setting.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config.h"
#include "core/limits.h"

namespace remotist::market {

struct Config {
  // DATABASE_URL, or DATABASE_URL_FILE when it has a password in it; one is required:
  // postgresql:///remotist?host=/run/…
  std::string database_url;
  bool database_url_is_secret = false;
  std::string amqp_url;  // AMQP_URL_FILE: a file with amqp://user:password@host:port/vhost

  std::string log_level = "info";  // debug adds a line for every request

  std::string listen_address =
      "127.0.0.1";  // anything else needs BEHIND_TLS_PROXY=true: the market itself has no TLS
  std::int64_t listen_port = 8080;
  bool behind_tls_proxy = false;
  // Port of the volunteers' WebSockets, on the same address; and the URL that agents are told, which differs
  // behind a proxy.
  std::int64_t socket_port = 8081;
  std::string socket_url;  // ws://… or wss://…, default: the address and port above
  std::int64_t sockets_max = limits::kSocketsMax;
  std::int64_t beat_ms = 10'000;  // interval of a machine's beats; after three without one it is lost
  // Mean time between losses of a machine, as long as none is measured: jobs take checkpoints accordingly.
  std::int64_t loss_hours_mean = 24;
  std::vector<std::string>
      trusted_proxies;  // addresses whose X-Forwarded-For is believed; from others it is ignored

  // A process holds as many descriptors as its limit says; behind a proxy all connections are of one address.
  std::int64_t connections_max = limits::kConnectionsMax;
  std::int64_t connections_per_address_max = limits::kConnectionsPerAddressMax;
  std::int64_t idle_connection_seconds_max = limits::kIdleConnectionSecondsMax;
  // Large responses that clients have not read yet; one address may have an eighth of it.
  std::int64_t unread_mb_max = limits::kUnreadMbMax;
  // How long a long-polling request is held: below the 30 s after which many proxies time out.
  std::int64_t held_seconds_max = limits::kHeldSecondsMax;

  std::string blob_dir = "blobs";  // of chunks; one folder for all markets
  // STATEMENT_KEY_FILE: a file with 64 hexadecimal digits, secret and the same in all markets, with which
  // they sign machine statements
  std::string statement_key;

  std::int64_t io_threads = 2;  // event loops; about one a core
  std::int64_t database_connections =
      16;  // threads with a connection each; PostgreSQL's max_connections bounds the sum
  std::int64_t database_queue_max =
      4096;                        // requests waiting for one of them; beyond it the answer is 503 busy
  std::int64_t chunk_threads = 4;  // each with a connection of its own; they compress, write and read chunks
  std::int64_t chunk_queue_max = limits::kChunkQueueMax;  // chunks waiting for one of them, 1 MiB each
  std::int64_t password_threads = 2;                      // each uses 64 MiB while it hashes

  // What an account may have (jobs that have ended count until they are deleted) and do.
  std::int64_t jobs_per_account_max = limits::kJobsPerAccountMax;
  std::int64_t uploading_jobs_per_account_max = limits::kUploadingJobsPerAccountMax;
  std::int64_t submissions_per_account_hour_max = limits::kSubmissionsPerAccountHourMax;

  std::int64_t collect_seconds = 600;  // interval between collections of unreferenced chunks
  std::int64_t audit_days = 365;       // how long the audit log is kept

  std::string registration = "open";  // open, invitation or closed
  std::int64_t registrations_per_address_hour_max =
      20;                                         // accounts made from one address (IPv6: one /64) an hour
  std::int64_t grant_microcredits = 100'000'000;  // what a new account starts with: 100 credits
  std::int64_t login_seconds = std::int64_t{30} * 86'400;  // lifetime of a login token
  std::int64_t machine_token_seconds = 86'400;             // lifetime of a machine token that is not renewed
};

// Adds every mistake it finds to `mistakes`; the result is to be used only when there is none.
Config read_config(ConfigReader::Values values, std::vector<std::string>& mistakes);

}  // namespace remotist::market
