#include "volunteer/sandbox/cpu_sampler.h"

#include <algorithm>
#include <format>
#include <optional>
#include <sstream>
#include <string>
#include <unistd.h>

#include "volunteer/sandbox/process_tree.h"

namespace remotist::volunteer {

namespace {

struct Stat {
  char state = '?';
  double own_ms = 0;
  double children_ms = 0;  // of those that were waited for
  std::uint64_t started = 0;
};

// The fields of /proc/…/stat after the process name, which may contain any character.
std::optional<Stat> stat_in(const std::string& folder) {
  const auto text = proc_text(folder + "/stat");
  const auto name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields{text.substr(name_end + 1)};
  Stat stat;
  std::string skipped;
  double utime = 0;
  double stime = 0;
  double cutime = 0;
  double cstime = 0;
  fields >> stat.state;
  for (int field = 4; field < 14; ++field) fields >> skipped;
  fields >> utime >> stime >> cutime >> cstime;
  for (int field = 18; field < 22; ++field) fields >> skipped;
  if (!(fields >> stat.started)) return {};
  static const double tick_ms = 1000.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  stat.own_ms = (utime + stime) * tick_ms;
  stat.children_ms = (cutime + cstime) * tick_ms;
  return stat;
}

// How many cores a process uses now: for each runnable thread, the share of its life that it was on a core.
double cores_of(pid_t process) {
  double cores = 0;
  const auto tasks = std::format("/proc/{}/task", process);
  for (const auto& thread : proc_names(tasks)) {
    const auto folder = std::format("{}/{}", tasks, thread);
    const auto stat = stat_in(folder);
    if (!stat || stat->state != 'R') continue;
    std::istringstream times{proc_text(folder + "/schedstat")};
    double ran = 0;
    double waited = 0;
    if (!(times >> ran >> waited)) {
      cores += 1;  // a kernel without schedstat
    } else if (ran > 0) {
      cores += ran / (ran + waited);
    }
  }
  return cores;
}

}  // namespace

std::int64_t CpuSampler::sample(pid_t root, Time now) {
  const double interval_ms = std::chrono::duration<double, std::milli>(now - last_sample_).count();
  last_sample_ = now;
  double waited_for = 0;
  double sum = 0;
  std::map<pid_t, Process> alive;
  for (const pid_t process : processes_of(root)) {
    const auto stat = stat_in(std::format("/proc/{}", process));
    if (!stat) continue;
    waited_for += stat->own_ms + stat->children_ms;
    const auto before = alive_.find(process);
    const bool known = before != alive_.end() && before->second.started == stat->started;
    const double ms = known ? stat->own_ms : std::max(stat->own_ms, interval_ms * cores_of(process));
    if (known) alive_.erase(before);
    alive.emplace(process, Process{stat->started, ms});
    sum += ms;
  }
  for (const auto& [process, last] : alive_) ended_ms_ += last.ms;
  alive_ = std::move(alive);
  ms_ = std::max({ms_, static_cast<std::int64_t>(waited_for), static_cast<std::int64_t>(ended_ms_ + sum)});
  return ms_;
}

}  // namespace remotist::volunteer
