#include "volunteer/agent/status.h"

#include <doctest/doctest.h>

using namespace remotist;
using namespace remotist::volunteer;

TEST_CASE("the status names each protection that jobs have to do without") {
  const LentMachine machine{.id = MachineId::make(), .name = "machine", .cpu_cores = 1};
  const auto report = [&](std::vector<std::string> missing) {
    return status_report(status_text({.machine = machine,
                                      .url = "http://127.0.0.1",
                                      .connected = true,
                                      .taking_jobs = true,
                                      .paused = false,
                                      .battery_low = false,
                                      .connection_error = "",
                                      .sandbox_ready = true,
                                      .missing = std::move(missing),
                                      .zygote = 0,
                                      .running = {},
                                      .jobs_ended = 0,
                                      .cache_bytes = 0}));
  };
  CHECK(report({}).contains("sandbox   ready\n"));
  CHECK(report({"overlay"}).contains("sandbox   ready, without overlay: see volunteer-agent doctor\n"));
  CHECK(report({"overlay", "time_namespace"}).contains("ready, without overlay, time_namespace: see"));
}
