# Writes a report for each month to its own CSV file, keeps a journal, and rewrites a progress file at each step.
set.seed(60)
dir.create("reports", showWarnings = FALSE)
stations <- sprintf("S%02d", 1:45)
journal <- "journal.txt"
cat("journal\n", file = journal)

simulate_month <- function(month) {
  base <- 10 - 12 * cos(2 * pi * month / 12)
  do.call(rbind, lapply(stations, function(station) {
    days <- 1:30
    noise <- as.numeric(arima.sim(list(ar = 0.7), 30))
    data.frame(station = station, month = month, day = days, temperature = round(base + noise * 2, 2))
  }))
}

totals <- list()
for (month in 1:12) {
  data <- simulate_month(month)
  path <- sprintf("reports/month_%02d.csv", month)
  write.csv(data, path, row.names = FALSE, quote = FALSE)
  means <- tapply(data$temperature, data$station, mean)
  totals[[month.abb[month]]] <- means
  for (station in names(means)) {
    cat(month.abb[month], station, format(means[[station]], nsmall = 3), "\n", file = journal, append = TRUE)
  }
  writeLines(c(paste("month", month, "of 12"), format(Reduce(`+`, lapply(totals, mean)) / month)), "progress.txt")
}

back <- list()
for (path in sort(list.files("reports", full.names = TRUE))) {
  table <- read.csv(path)
  back[[path]] <- aggregate(temperature ~ station, table, function(v) c(mean = mean(v), max = max(v)))
  if (table$month[1] %% 2 == 0) file.remove(path)
}
yearly <- Reduce(`+`, totals) / 12
warmest <- names(which.max(sapply(totals, mean)))
journal_lines <- length(readLines(journal))
kept <- list.files("reports")
text <- capture.output(print(round(do.call(rbind, totals)[1:3, 1:4], 2)))
sink("summary.txt")
cat("yearly means\n")
print(yearly)
sink()
