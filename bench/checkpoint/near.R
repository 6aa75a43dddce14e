# bench/checkpoint/run --part near: how far apart the checkpoints of the corpus are when they are asked for all the time, and
# why they were refused. The time before the first and behind the last counts as a gap, too.
source("bench/checkpoint/programs.R")
room <- commandArgs(TRUE)[[1L]]
files <- program_files("tests/checkpoint/programs")
files <- files[!vapply(files, function(file) nzchar(lacking(file)), NA)]
refusals <- list()
rows <- lapply(files, function(file) {
  told <- drive(file, room, "--every-ms", "50")
  for (why in names(told$refusals)) refusals[[why]] <<- sum(refusals[[why]], told$refusals[[why]])
  data.frame(name = name_of(file), run = told$run_ms, checkpoints = told$checkpoints, longest = told$gap_ms_max,
             over_100 = told$gap_ms_over_100, over_1000 = told$gap_ms_over_1000)
})
rows <- do.call(rbind, rows)
rows <- rows[order(-rows$longest), ]
cat(sprintf("%-20s %7s %12s %15s\n", "", "run ms", "checkpoints", "longest gap ms"))
cat(sprintf("%-20s %7.0f %12d %15.0f\n", rows$name, rows$run, rows$checkpoints, rows$longest), sep = "")
share <- function(far) 100 * (1 - sum(far) / sum(rows$run))
cat(sprintf("%d programs, %.1f s, %d checkpoints: %.1f %% of the run time within 0.1 s behind a checkpoint, %.1f %% within 1 s\n",
            nrow(rows), sum(rows$run) / 1000, sum(rows$checkpoints), share(rows$over_100), share(rows$over_1000)))
refusals <- sort(unlist(refusals), decreasing = TRUE)
cat("refused:\n", sprintf("%6d  %s\n", as.integer(refusals), names(refusals)), sep = "")
