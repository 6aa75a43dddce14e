#include "volunteer/agent/status.h"

#include <cstdio>
#include <fstream>
#include <unistd.h>

#include "core/json.h"

namespace remotist::volunteer {
namespace {

using nlohmann::json;

}  // namespace

std::int64_t pss_kb(pid_t process) {
  std::ifstream file{"/proc/" + std::to_string(process) + "/smaps_rollup"};
  for (std::string line; std::getline(file, line);) {
    long kb = 0;
    if (std::sscanf(line.c_str(), "Pss: %ld kB", &kb) == 1) return kb;
  }
  return 0;
}

std::string status_text(const Status& status) {
  auto jobs = json::array();
  for (const auto& running : status.running) {
    jobs.push_back(
        {{"job", running.name.job.text()}, {"attempt", running.name.number}, {"cpu_ms", running.cpu_ms}});
  }
  const json document{{"pid", ::getpid()},
                      {"machine", status.machine.id.text()},
                      {"name", status.machine.name},
                      {"url", status.url},
                      {"connected", status.connected},
                      {"taking_jobs", status.taking_jobs},
                      {"paused", status.paused},
                      {"battery_low", status.battery_low},
                      {"connection_error", status.connection_error},
                      {"sandbox_ready", status.sandbox_ready},
                      {"missing_protections", status.missing},
                      {"jobs", jobs},
                      {"jobs_ended", status.jobs_ended},
                      {"cache_bytes", status.cache_bytes},
                      {"agent_pss_kb", pss_kb(::getpid())},
                      {"zygote_pid", status.zygote},
                      {"zygote_pss_kb", pss_kb(status.zygote)}};
  return document.dump();
}

std::string status_report(const std::string& text) {
  const auto status = json_in(text);
  const auto is = [&](const char* key) { return status.at(key).get<bool>(); };
  const auto mb = [&](const char* key) {
    return std::to_string((status.at(key).get<long>() + 512) / 1024) + " MB";
  };
  std::string report = "machine   " + status.at("name").get<std::string>() + " (" +
                       status.at("machine").get<std::string>() + ")\n";
  report += "market    " + status.at("url").get<std::string>() + ", " +
            (is("connected") ? "connected" : "not connected") +
            (is("taking_jobs") ? "" : ", takes no new jobs") + "\n";
  if (is("paused")) report += "paused    until volunteer-agent resume\n";
  if (is("battery_low")) report += "battery   low: takes jobs again when it charges\n";
  if (const auto error = status.at("connection_error").get<std::string>(); !error.empty())
    report += "error     " + error + "\n";
  report += std::string{"sandbox   "} + (is("sandbox_ready") ? "ready" : "starting");
  const auto& missing = status.at("missing_protections");
  for (const auto& name : missing)
    report += (name == missing.front() ? ", without " : ", ") + name.get<std::string>();
  report += missing.empty() ? "\n" : ": see volunteer-agent doctor\n";
  report += "memory    " + mb("agent_pss_kb") + ", and " + mb("zygote_pss_kb") + " for R\n";
  report += "jobs      " + std::to_string(status.at("jobs").size()) + " running, " +
            std::to_string(status.at("jobs_ended").get<long>()) + " ended\n";
  for (const auto& job : status.at("jobs")) {
    char line[200];
    std::snprintf(line, sizeof line, "          %s  attempt %d  %.1f s of CPU\n",
                  job.at("job").get<std::string>().c_str(), job.at("attempt").get<int>(),
                  static_cast<double>(job.at("cpu_ms").get<long>()) / 1000);
    report += line;
  }
  return report;
}

}  // namespace remotist::volunteer
