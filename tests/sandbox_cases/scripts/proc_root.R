# Goes through /proc to the roots and folders of other processes.
source("prelude.R")

for (pid in c("self", "1", target("agent"), target("zygote"), target("canary")))
  for (door in c("root", "cwd/../../../../../../../../../.."))
    attempt(paste0("/proc/", pid, "/", door), holds_secret(paste0("/proc/", pid, "/", door, target("secret"))))
