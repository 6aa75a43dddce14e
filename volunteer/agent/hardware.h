// The hardware of this machine, and its load.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

#include "core/protocol.h"

namespace remotist::volunteer {

struct Hardware {
  std::int64_t cpu_cores;
  std::int64_t ram_mb;
  std::int64_t disc_mb_free;  // where the folder is
};
Hardware hardware_at(const std::filesystem::path& folder);
std::string host_name();

// The figures of a beat, averaged since the last reading. Not thread-safe.
class Gauges {
 public:
  explicit Gauges(std::filesystem::path folder);
  // Without the attempts.
  protocol::Beat read();

 private:
  struct Counters {
    std::chrono::steady_clock::time_point at;
    double cpu_seconds;
    double network_bytes;
  };
  Counters counters() const;

  const std::filesystem::path folder_;
  Counters last_;
};

}  // namespace remotist::volunteer
