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
                      {"trouble", status.trouble},
                      {"sandbox_ready", status.sandbox_ready},
                      {"missing_defences", status.missing},
                      {"jobs", jobs},
                      {"jobs_ended", status.jobs_ended},
                      {"cache_bytes", status.cache_bytes},
                      {"agent_pss_kb", pss_kb(::getpid())},
                      {"zygote_pid", status.zygote},
                      {"zygote_pss_kb", pss_kb(status.zygote)}};
  return document.dump();
}

std::string status_words(const std::string& text) {
  const auto status = json_in(text);
  const auto is = [&](const char* key) { return status.at(key).get<bool>(); };
  const auto mb = [&](const char* key) {
    return std::to_string((status.at(key).get<long>() + 512) / 1024) + " MB";
  };
  std::string words = "machine   " + status.at("name").get<std::string>() + " (" +
                      status.at("machine").get<std::string>() + ")\n";
  words += "market    " + status.at("url").get<std::string>() + ", " +
           (is("connected") ? "connected" : "not connected") +
           (is("taking_jobs") ? "" : ", takes no new jobs") + "\n";
  if (const auto trouble = status.at("trouble").get<std::string>(); !trouble.empty())
    words += "trouble   " + trouble + "\n";
  words += std::string{"sandbox   "} + (is("sandbox_ready") ? "ready" : "getting ready");
  const auto& missing = status.at("missing_defences");
  for (const auto& name : missing)
    words += (name == missing.front() ? ", without " : ", ") + name.get<std::string>();
  words += missing.empty() ? "\n" : ": see volunteer-agent doctor\n";
  words += "memory    " + mb("agent_pss_kb") + ", and " + mb("zygote_pss_kb") + " for R\n";
  words += "jobs      " + std::to_string(status.at("jobs").size()) + " running, " +
           std::to_string(status.at("jobs_ended").get<long>()) + " ended\n";
  for (const auto& job : status.at("jobs")) {
    char line[200];
    std::snprintf(line, sizeof line, "          %s  attempt %d  %.1f s of CPU\n",
                  job.at("job").get<std::string>().c_str(), job.at("attempt").get<int>(),
                  static_cast<double>(job.at("cpu_ms").get<long>()) / 1000);
    words += line;
  }
  return words;
}

}  // namespace remotist::volunteer
