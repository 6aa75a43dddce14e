# Simulates a server that appends to log files, rotates them, and then reads them again line by line.
set.seed(8080)
dir.create("logs")
paths <- c("/", "/jobs", "/jobs/new", "/results", "/login")
clock <- 0
lines_written <- 0
rotations <- 0

log_line <- function(level, ...) {
  cat(sprintf("%09.3f %-5s %s\n", clock, level, paste0(...)), file = "logs/server.log", append = TRUE)
  lines_written <<- lines_written + 1
}

rotate <- function() {
  rotations <<- rotations + 1
  file.rename("logs/server.log", sprintf("logs/server.%d.log", rotations))
  old <- sprintf("logs/server.%d.log", rotations - 3)
  if (file.exists(old)) unlink(old)
}

for (request in 1:3500) {
  clock <- clock + rexp(1, 2)
  path <- sample(paths, 1, prob = 5:1)
  time <- rgamma(1, 2, 0.05)
  status <- sample(c(200, 404, 500), 1, prob = c(0.9, 0.07, 0.03))
  log_line("INFO", "GET ", path, " ", status, " ", sprintf("%.1f", time), "ms")
  if (status == 500) log_line("ERROR", "request ", request, " failed")
  if (time > 120) {
    log_line("WARN", "slow")
    next
  }
  if (file.size("logs/server.log") > 16000) rotate()
}

statistics <- list()
for (name in sort(list.files("logs", full.names = TRUE))) {
  input <- file(name, "r")
  levels <- c(INFO = 0, WARN = 0, ERROR = 0)
  times <- numeric(0)
  while (length(line <- readLines(input, n = 1)) > 0) {
    level <- trimws(substr(line, 11, 15))
    levels[level] <- levels[level] + 1
    if (grepl("ms$", line)) times <- c(times, as.numeric(sub(".* ([0-9.]+)ms$", "\\1", line)))
  }
  close(input)
  statistics[[basename(name)]] <- list(levels = levels, mean_time = mean(times), slowest = max(times))
}
file_sizes <- file.size(list.files("logs", full.names = TRUE))
