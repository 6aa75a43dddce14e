# Variables that change while the job runs.
source("tests/e2e/lib/session.R")
email <- new_account("watching")
send <- function(name, watched, code, ...) {
  addJob(name, "main.R", ram = 512, disc = 100, folder_path = job_folder("main.R" = code), partialResultsVars = watched, ...)
}
values_of <- function(job, var, ...) loadPartialResultHistory(job, var, ...)$value

claim("before the job runs there is no value", {
  # No machine lends as many cores.
  job <- send("queued", "i", "i <- 1", cpu = 256)
  none <- raised(loadPartialResult(job, "i"), "remotist_no_value")
  expect(grepl("watchVar", conditionMessage(none)))
  cancelJob(job)
})

claim("a variable is seen, each change once", {
  job <- send("loop", c("i", "fit$loss", "big", "never"), c(
    "fit <- list(loss = 1)", "i <- 0L", "big <- numeric(20000)",
    "while (i < 30L) { i <- i + 1L; fit$loss <- 1 / i; big[i] <- i; Sys.sleep(0.1) }", "rm(i)"
  ))
  seen <- integer()
  times <- .POSIXct(numeric())
  words <- said(done <- watchVar(job, "i", function(value, time) {
    seen <<- c(seen, value)
    times <<- c(times, time)
  }))
  expect(
    identical(seen, 0:30), !is.unsorted(times), done$state == "completed",
    grepl("removed", words), grepl("completed", words)
  )
})

claim("the history is exact after the end, by range and page", {
  history <- loadPartialResultHistory(job, "i")
  print(history)
  is_value <- history$kind == "value"
  expect(
    identical(unlist(history$value), 0:30), identical(which(!is_value), 32L), history$kind[[32]] == "removed", all(history$changes == 1),
    identical(history$sequence, as.double(1:32)), identical(history$time[is_value], `attr<-`(times, "tzone", attr(history$time, "tzone"))),
    !any(history$thinned), !any(history$superseded)
  )
  expect(
    identical(unlist(values_of(job, "i", from = 3, to = 5)), 2:4), identical(unlist(values_of(job, "i", from = history$time[[30]], to = history$time[[31]])), 29:30),
    identical(unlist(values_of(job, "i", page = 1)), 0:30), nrow(loadPartialResultHistory(job, "i", page = 2)) == 0L
  )
  loadPartialResultHistory(job, "i", "past")
  expect(identical(past, history))
})

claim("the value of a time is that of its record, to the millisecond", {
  for (k in c(1L, 2L, 17L, 31L)) expect(identical(loadPartialResult(job, "i", at = history$time[[k]]), k - 1L))
  expect(loadPartialResult(job, "i", at = history$time[[9]] - 0.001) == 7L)
  raised(loadPartialResult(job, "i", at = history$time[[1]] - 3600), "remotist_no_value")
  gone <- raised(loadPartialResult(job, "i"), "remotist_no_value")
  expect(grepl("removed", conditionMessage(gone)))
})

claim("elements and large values are watched, too", {
  loadPartialResult(job, "fit$loss", "loss")
  expect(identical(loss, 1 / 30), identical(unlist(values_of(job, "fit$loss")), c(1, 1 / 2:30)))
  big <- loadPartialResult(job, "big")
  expect(identical(big, replace(numeric(20000), 1:30, 1:30)), identical(loadPartialResult(job, "big"), big))
})

claim("it is drawn", {
  lines <- capture.output(drawn <- plotPartialResult(job, "fit$loss", text = TRUE))
  cat(lines, sep = "\n")
  expect(length(lines) == 10L, identical(unlist(drawn$value), c(1, 1 / 2:30)))
  lines <- capture.output(plotPartialResult(job, "i", text = TRUE, live = TRUE))
  expect(length(lines) == 31L)
  file <- file.path(scratch, "plot.pdf")
  pdf(file)
  plotPartialResult(job, "fit$loss")
  plotPartialResult(job, "big")
  dev.off()
  expect(file.size(file) > 2000)
})

claim("what is not watched, or never came to be, is told", {
  unknown <- raised(loadPartialResult(job, "x"), "remotist_not_watched")
  expect(grepl("fit$loss", conditionMessage(unknown), fixed = TRUE))
  missing <- tryCatch(loadPartialResult(job, "never"), error = identity)
  expect(inherits(missing, "remotist_no_value"))
  cat(conditionMessage(missing), "\n")
})

claim("after an error the last value is there", {
  job <- send("error", c("step", "f"), c("f <- function(n) n", "for (step in 1:5) Sys.sleep(0.05)", "stop('at ', step)"))
  seen <- integer()
  done <- watchVar(job, "step", function(value, time) seen <<- c(seen, value))
  expect(done$state == "failed", identical(seen, 1:5), identical(loadPartialResult(job, "step"), 5L), identical(unlist(values_of(job, "step")), 1:5))
  raised(waitJob(job), "remotist_job_failed")
  # A function: told by the runner as a problem, or left out here.
  code <- tryCatch(loadPartialResult(job, "f"), error = identity)
  expect(inherits(code, c("remotist_not_plain", "remotist_no_value")))
})

claim("every kind of value comes as it is", {
  values <- list(
    NULL, NA, c(a = 1.5, b = NaN, c = -Inf), 1:3, 1:1000, "gr\u00fc\u00dfe", c("x", NA), 1i, as.raw(1:3), factor(c("u", "v")), as.Date("2026-02-01"),
    data.frame(d = as.Date("2026-02-01") + 0:2, f = factor(c("u", "v", "u"))), list(a = list(b = list(1, "x"))), matrix(1:6, 2)
  )
  code <- vapply(values, function(value) paste(c("x <-", deparse(value, control = c("all", "hexNumeric"))), collapse = " "), "")
  job <- send("kinds", "x", c(rbind(code, "Sys.sleep(0.02)")))
  seen <- list()
  watchVar(job, "x", function(value, time) seen[length(seen) + 1L] <<- list(value))
  expect(identical(seen, values), identical(values_of(job, "x"), values))
})

claim("a rule may be left out of the name, and Ctrl-C only stops watching", {
  job <- send("rule", "n every 60", "n <- 0; for (k in 1:50) { n <- k; Sys.sleep(0.1) }")
  words <- said(watchVar(job, "n", function(value, time) stopWatching()))
  expect(grepl("Stopped watching", words), !viewJob(job)$state %in% c("failed", "cancelled"))
  seen <- 0
  watchVar(job, "n", function(value, time) seen <<- c(seen, value))
  expect(length(seen) < 15, seen[[length(seen)]] == 50, !is.unsorted(seen))
})

claim("the newest value is there while the job runs", {
  job <- send("long", "i", "for (i in 1:100000) Sys.sleep(0.05)")
  watchVar(job, "i", function(value, time) if (value >= 5L) stopWatching())
  newest <- loadPartialResult(job, "i")
  expect(is.integer(newest), newest >= 5L, viewJob(job)$state == "running")
})

claim("a session that is interrupted leaves the job alone", {
  out <- another_session(c(
    sprintf("login('%s', '%s')", email, password),
    sprintf("job <- watchVar('%s', 'i', function(value, time) cat('i is', value, '\\n'))", job$id), "cat('still here\\n')"
  ))
  until("it watches", function() any(grepl("^i is", lines_of(out))), otherwise = told_by(out))
  tools::pskill(pid_of(out), tools::SIGINT)
  until("it is detached", function() any(lines_of(out) == "still here"), otherwise = told_by(out))
  expect(any(grepl("Stopped watching", lines_of(out))), viewJob(job)$state == "running")
  cancelJob(job)
  done <- watchVar(job, "i", function(value, time) NULL)
  expect(done$state == "cancelled", loadPartialResult(job, "i") > 1)
})
