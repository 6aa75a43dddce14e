# Date arithmetic: Easter, leap years, working days, ages, Fridays the 13th, a loan schedule, a calendar.
easter <- function(year) {
  a <- year %% 19
  b <- year %/% 100
  c <- year %% 100
  d <- (19 * a + b - b %/% 4 - (b - (b + 8) %/% 25 + 1) %/% 3 + 15) %% 30
  e <- (32 + 2 * (b %% 4) + 2 * (c %/% 4) - d - c %% 4) %% 7
  f <- d + e - 7 * ((a + 11 * d + 22 * e) %/% 451) + 114
  as.Date(sprintf("%d-%02d-%02d", year, f %/% 31, f %% 31 + 1))
}
years <- 1990:2040
easters <- do.call(c, lapply(years, easter))
latest <- easters[which.max(as.integer(format(easters, "%j")))]

holidays <- unlist(lapply(years, function(year) {
  fixed <- as.Date(paste0(year, c("-01-01", "-04-25", "-05-01", "-12-25")))
  as.integer(c(fixed, easter(year) + c(-2, 0, 60)))
}))
is_working_day <- function(day) !(as.POSIXlt(day)$wday %in% c(0, 6)) && !(as.integer(day) %in% holidays)

working <- list()
day <- as.Date("2019-01-01")
while (day < as.Date("2022-01-01")) {
  month <- format(day, "%Y-%m")
  if (is_working_day(day)) working[[month]] <- c(working[[month]], as.integer(day))
  day <- day + 1
}
working_days <- lengths(working)

add_working_days <- function(day, n) {
  while (n > 0) {
    day <- day + 1
    if (is_working_day(day)) n <- n - 1
  }
  day
}
ordered <- seq(as.Date("2021-11-01"), by = "week", length.out = 30)
deadlines <- sapply(ordered, function(d) format(add_working_days(as.Date(d), 20)))

thirteenths <- seq(as.Date("2000-01-13"), as.Date("2030-12-13"), by = "month")
fridays <- Filter(function(d) format(d, "%u") == "5", as.list(thirteenths))
unlucky <- table(sapply(fridays, format, "%Y"))

debt <- 150000
rate <- 0.031
due <- as.Date("2020-01-31")
schedule <- NULL
while (debt > 0.005) {
  following <- seq(as.Date(format(due, "%Y-%m-01")), by = "month", length.out = 3)[3] - 1
  days <- as.numeric(difftime(following, due, units = "days"))
  interest <- round(debt * rate * days / 365, 2)
  payment <- min(1400, debt + interest)
  debt <- round(debt + interest - payment, 2)
  due <- following
  schedule <- rbind(schedule, data.frame(due = due, payment = payment, interest = interest, debt = debt))
}
paid_off <- max(schedule$due)
interest_by_year <- tapply(schedule$interest, format(schedule$due, "%Y"), sum)
quarters <- table(quarters(schedule$due))
week_numbers <- strftime(as.Date(paste0(2015:2024, "-12-31")), "%G-W%V")
today <- as.Date("2024-02-28")
ages <- sapply(c("1980-02-29", "1999-12-31"), function(born) length(seq(as.Date(born), today, by = "year")) - 1)
moments <- as.POSIXct("2024-01-01", tz = "UTC") + cumsum(rep(c(3600, 5400, 60), 50))
per_day <- table(cut(moments, "day"))
