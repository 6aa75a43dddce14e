# A calculation under changing settings: options, time zones, locale, digits, put back or kept.
set.seed(2038)
options(digits = 5, OutDec = ".", scipen = 3, my.report = list(level = 2, title = "tides"))
Sys.setenv(TZ = "Europe/Lisbon", CORPUS_MODE = "quiet")
Sys.setlocale("LC_COLLATE", "C")

tide <- function(hours) 2 + 1.2 * sin(2 * pi * hours / 12.42) + 0.4 * sin(2 * pi * hours / 24)
start <- as.POSIXct("2024-03-29 12:00:00", tz = "UTC")
readings <- data.frame(time = start + 3600 * 0:99)
readings$height <- tide(0:99) + rnorm(100, sd = 0.05)
hours_local <- format(readings$time, "%H:%M %Z", tz = "")

zones <- c("UTC", "Europe/Lisbon", "America/New_York", "Asia/Tokyo", "Australia/Sydney")
local_hours <- list()
for (zone in zones) {
  old <- Sys.getenv("TZ")
  Sys.setenv(TZ = zone)
  shown <- character(0)
  for (i in seq_len(nrow(readings))) {
    moment <- as.POSIXct(format(readings$time[i], tz = "UTC"), tz = "UTC")
    shown[i] <- format(moment, "%d %H h", tz = "")
  }
  local_hours[[zone]] <- shown
  Sys.setenv(TZ = old)
}
switch_of_clocks <- which(diff(as.integer(format(readings$time, "%H", tz = "Europe/Lisbon"))) %% 24 != 1)

levels_shown <- character(0)
for (digits in 3:12) {
  options(digits = digits)
  for (k in 1:150) {
    x <- tide(k / 7)
    levels_shown[paste(digits, k)] <- format(x)
  }
}
options(digits = 9)
report <- capture.output(print(head(readings$height)))
options(OutDec = ",")
decimal <- format(pi)
options(OutDec = ".")

mixed <- c("b", "A", "a", "B", "_z", "10", "9")
in_c <- sort(mixed)
by_method <- lapply(c("radix", "shell"), function(method) sort(mixed, method = method))
verbose <- isTRUE(getOption("my.report")$level > 1)
title <- toupper(getOption("my.report")$title)
mode <- Sys.getenv("CORPUS_MODE")

high_water <- c()
for (i in 2:99) {
  around <- readings$height[(i - 1):(i + 1)]
  if (around[2] == max(around)) high_water <- c(high_water, format(readings$time[i], "%a %H:%M", tz = "Europe/Lisbon"))
}
area <- vapply(1:3000, function(k) {
  h <- seq(0, k / 100, length.out = 50)
  sum(tide(h)) * (k / 100) / 50
}, 0)
kept <- options("digits", "OutDec", "scipen")
where <- Sys.getlocale("LC_COLLATE")
zone_at_end <- Sys.getenv("TZ")
