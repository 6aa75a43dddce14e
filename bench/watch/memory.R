# Runs the job for bench/watch/memory.sh and prints how many values came: Rscript memory.R SECONDS FOLDER
suppressMessages({
  library(remotist, lib.loc = "build/r-lib")
  arguments <- commandArgs(TRUE)
  folder <- arguments[[2]]
  dir.create(folder)
  writeLines(c(
    "x <- numeric(12500000)",
    sprintf("until <- proc.time()[[3]] + %s", arguments[[1]]),
    "while (proc.time()[[3]] < until) for (i in 1:1000000) x[(i * 7919) %% 12500000 + 1] <- i",
    "x <- sum(x)"
  ), file.path(folder, "main.R"))
  register("bench@example.org", "correct horse battery")
  login("bench@example.org", "correct horse battery")
  job <- addJob("memory", "main.R", ram = 2048, disc = 500, folder_path = folder, partialResultsVars = "x")
  waitJob(job)
  values <- loadPartialResultHistory(job, "x")
})
cat(nrow(values) - 1L)
