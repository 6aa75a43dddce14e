# bench/checkpoint/run --part micro: what the engine costs where it is felt most. The first line of a program says how many
# iterations it makes.
source("bench/checkpoint/programs.R")
words <- commandArgs(TRUE)
files <- program_files("bench/checkpoint/micro")
rows <- compare_ways(files, words[[1L]], as.integer(words[[2L]]))
rows$iterations <- as.numeric(sub(".* ([0-9]+) iterations[.]$", "\\1", vapply(files, readLines, "", n = 1L)))
rows <- rows[order(-rows$ratio), ]
cat(sprintf("%-20s %9s %9s %6s %12s %12s\n", "", "plain ms", "engine ms", "ratio", "plain ns/it", "engine ns/it"))
cat(sprintf("%-20s %9.0f %9.0f %6.2f %12.1f %12.1f\n", rows$name, rows$plain, rows$engine, rows$ratio,
            1e6 * rows$plain / rows$iterations, 1e6 * rows$engine / rows$iterations), sep = "")
cat(sprintf("geometric mean %.3f, worst %.2f\n", geometric_mean(rows$ratio), max(rows$ratio)))
