// Settings of remotist-worker: environment variables REMOTIST_WORKER_<NAME>, or the same lines in one file
// given with --config. docs/operations.md tells when to change which.
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

  std::int64_t accept_ms =
      5'000;                     // an assignment that its machine does not accept for so long goes elsewhere
  std::int64_t reap_ms = 1'000;  // how often leases, deadlines and acceptances are looked at
  std::int64_t look_ms = 2'000;  // how often offers are looked at that no message told of
  // After so long a job that fits no machine as it is gets one that is emptied for it.
  std::int64_t patience_seconds = 600;
};

// Adds every mistake it finds to `mistakes`; the result is to be used only when there is none.
Config read_config(ConfigReader::Values values, std::vector<std::string>& mistakes);

}  // namespace remotist::worker
