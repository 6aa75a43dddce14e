# Forks by R's own means.
source("prelude.R")

allowed <- as.integer(target("processes_max"))
attempt("processes by mcparallel()", {
  jobs <- list()
  while (length(jobs) < 2 * allowed) jobs[[length(jobs) + 1]] <- parallel::mcparallel(Sys.sleep(60))
  length(jobs) > allowed
})
tools::pskill(vapply(parallel:::children(), `[[`, 1L, "pid"), tools::SIGKILL)
