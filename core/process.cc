#include "core/process.h"

#include <algorithm>
#include <sys/resource.h>

#include "core/log.h"

namespace remotist {

sigset_t stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

void allow_descriptors(std::size_t wanted, std::string_view advice) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == wanted) return;
  log::warn("few_descriptors", {{"has", limit.rlim_cur}, {"wants", wanted}, {"advice", advice}});
}

}  // namespace remotist
