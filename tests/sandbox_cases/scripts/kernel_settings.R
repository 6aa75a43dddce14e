# Changes settings of the kernel.
source("prelude.R")

for (path in c("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/self/oom_score_adj", "/sys/kernel/uevent_helper"))
  attempt(path, {
    file <- file(path, "r+")
    close(file)
    path != "/proc/self/oom_score_adj"
  })
