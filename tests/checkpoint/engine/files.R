# Files and connections are as they were at the moment of the checkpoint.
slow <- function(n) { s <- 0; for (i in 1:n) s <- s + i; s }
dir.create("deep/er", recursive = TRUE)
for (i in 1:30) { slow(200); cat("line", i, "\n", file = "log.txt", append = TRUE) }
writing <- file("written.txt", "w")
for (i in 1:30) { slow(200); writeLines(paste("w", i, runif(1) >= 0), writing); if (i %% 10 == 0) saveRDS(i, "deep/er/state.rds") }
close(writing)
reading <- file("written.txt", "r"); got <- character()
while (length(line <- readLines(reading, 1)) > 0) { slow(200); got <- c(got, line) }
close(reading)
for (i in 1:6) { slow(300); file.rename("log.txt", "moved.txt"); slow(300); file.rename("moved.txt", "log.txt") }
unlink("written.txt")
temporary <- file.path(tempdir(), "scratch.txt"); cat("t\n", file = temporary)
for (i in 1:5) { slow(300); cat(i, "\n", file = temporary, append = TRUE) }
lines <- readLines(temporary); unlink(temporary); rm(temporary, writing, reading)
text <- textConnection("a\nb\nc"); words <- character(); for (i in 1:3) { slow(300); words <- c(words, readLines(text, 1)) }; close(text); rm(text)
old <- options(digits = 4); Sys.setenv(REMOTIST_TEST = "yes"); for (i in 1:5) slow(300); kept <- c(getOption("digits"), Sys.getenv("REMOTIST_TEST"))
RNGkind("Wichmann-Hill"); set.seed(3); draws <- numeric(); for (i in 1:5) { slow(300); draws <- c(draws, runif(1), rnorm(1)) }
