// Settings of remotist-worker: environment variables REMOTIST_WORKER_<NAME>, or the same lines in one file
// given with --config. docs/operations.md describes each setting.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config.h"

namespace remotist::worker {

struct Config {
  // DATABASE_URL, or DATABASE_URL_FILE when it has a password in it; one is required.
  std::string database_url;
  bool database_url_is_secret = false;
  std::string amqp_url;  // AMQP_URL_FILE: a file with amqp://user:password@host:port/vhost; required

  std::string log_level = "info";

  std::int64_t accept_ms = 5'000;  // an assignment that is not accepted within this time is requeued
  std::int64_t reap_ms = 1'000;    // interval of the checks of leases, deadlines and acceptances
  std::int64_t scan_ms = 2'000;    // interval of the scan for jobs and machines whose message was lost
  // A job that has waited this long for capacity gets a machine reserved.
  std::int64_t reserve_after_seconds = 600;
};

// Adds every mistake it finds to `mistakes`; the result is to be used only when there is none.
Config read_config(ConfigReader::Values values, std::vector<std::string>& mistakes);

}  // namespace remotist::worker
