# bench/checkpoint/run --part corpus: what the engine costs the programs that it is tested with.
source("bench/checkpoint/programs.R")
words <- commandArgs(TRUE)
rows <- compare_ways(program_files("tests/checkpoint/programs"), words[[1L]], as.integer(words[[2L]]))
rows <- rows[order(-rows$ratio), ]
cat(sprintf("%-20s %9s %9s %6s %9s\n", "", "plain ms", "engine ms", "ratio", "begin ms"))
cat(sprintf("%-20s %9.0f %9.0f %6.2f %9.0f\n", rows$name, rows$plain, rows$engine, rows$ratio, rows$begin), sep = "")
cat(sprintf("%d programs: geometric mean %.3f, worst %.2f; %.2f s plainly, %.2f s with the engine; begin %.0f ms in the middle, %.0f at most\n",
            nrow(rows), geometric_mean(rows$ratio), max(rows$ratio), sum(rows$plain) / 1000, sum(rows$engine) / 1000,
            stats::median(rows$begin), max(rows$begin)))
