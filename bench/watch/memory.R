# Runs the job for bench/watch/memory.sh and prints how many values came: Rscript memory.R SECONDS FOLDER
suppressMessages({
  source("bench/watch/watched_job.R")
  job <- watched_job("memory", c(
    "x <- numeric(12500000)",
    sprintf("until <- proc.time()[[3]] + %s", arguments[[1]]),
    "while (proc.time()[[3]] < until) for (i in 1:1000000) x[(i * 7919) %% 12500000 + 1] <- i",
    "x <- sum(x)"
  ), "x", ram = 2048, disc = 500)
  waitJob(job)
  values <- loadPartialResultHistory(job, "x")
})
cat(nrow(values) - 1L)
