# Measures for bench/watch/callback.sh: Rscript callback.R CHANGES FOLDER
source("bench/watch/watched_job.R")
n <- as.integer(arguments[[1]])
job <- watched_job("callback", c(
  sprintf("for (k in seq_len(%d)) {", n + 20L),
  "  Sys.sleep(runif(1, 0.02, 0.12))",
  "  changed <- as.numeric(Sys.time())",
  "}"
), "changed", ram = 512, disc = 100)

late <- numeric()
answer <- numeric()
done <- watchVar(job, "changed", function(value, time) {
  late[[length(late) + 1L]] <<- as.numeric(Sys.time()) - value
  # Now and then, so that the two are measured in the same minutes.
  if (length(late) %% 10L == 0L) answer[[length(answer) + 1L]] <<- system.time(viewJob(job))[["elapsed"]]
})
stopifnot(done$state == "completed", length(late) == n + 20L)
late <- late[-(1:20)]
# A change that comes while the callback asks the market something waits for that.
late <- late[-seq(1L, n, by = 10L)]
row <- function(words, seconds) {
  cat(sprintf("  %-42s p50 %7.1f ms   p99 %7.1f ms\n", words, 1000 * median(seconds), 1000 * quantile(seconds, 0.99)))
}
row("from the change to the callback", late)
row("viewJob(), one answer of the market", answer)
cat(sprintf("  ratio of the p50: %.2f (target: a p50 of at most 50 ms)\n", median(late) / median(answer)))
