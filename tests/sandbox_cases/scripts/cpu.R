# Computes without end.
source("prelude.R")

allowed <- as.numeric(target("cpu_ms_max"))
trying(4 * allowed, " ms of CPU time, where ", allowed, " are allowed")
while (sum(proc.time()[1:2]) * 1000 < 4 * allowed) for (i in 1:1e5) i
escaped(4 * allowed, " ms of CPU time")
