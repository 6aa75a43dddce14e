# Answers like a market to which the records come one by one, some between two requests.
growing <- function(records, at_a_time) {
  shown <- 0L
  base <- paste0("/job/", job_id, "/partialResults/x")
  routes <- list()
  now <- function() watch_routes(records[seq_len(shown)])
  routes[[paste("GET", base)]] <- function(req) {
    if (shown < length(records)) {
      step <- at_a_time[[1L]]
      at_a_time <<- at_a_time[-1L]
      if (step == 0L) return(httr2::response(304L))
      shown <<- shown + step
    }
    now()[[paste("GET", base)]](req)
  }
  routes[[paste0("GET ", base, "/history")]] <- function(req) now()[[paste0("GET ", base, "/history")]](req)
  routes[[paste0("GET /job/", job_id)]] <- json_reply(a_job(state = "failed"))
  routes
}

collect <- function(routes, ...) {
  values <- list()
  times <- .POSIXct(numeric(), "UTC")
  here <- market(routes)
  job <- httr2::with_mocked_responses(here$mock, watchVar(job_id, "x", function(value, time) {
    values[length(values) + 1L] <<- list(value)
    times <<- c(times, time)
    FALSE
  }, ...))
  list(values = values, times = times, job = job, asked = here$received())
}

test_that("each change is seen once, in order, until the job ends", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  records <- lapply(1:450, function(i) a_record(i, i, seconds = i %/% 10))
  expect_snapshot(seen <- collect(growing(records, c(0L, 1L, 1L, 0L, 48L, 0L, 400L))))
  expect_identical(seen$values, as.list(1:450))
  expect_identical(seen$times[[450]], time_of("2026-02-01T10:00:45.000Z"))
  expect_identical(seen$job$state, "failed")
  # 450 by history: one page before record 50, two before 450.
  expect_identical(sum(grepl("/history$", seen$asked)), 3L)
})

test_that("without history the first value is the current one", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  records <- lapply(1:9, function(i) a_record(i, i))
  expect_identical(suppressMessages(collect(growing(records, c(5L, 1L, 3L)), history = FALSE))$values, as.list(5:9))
})

test_that("superseded records are skipped", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  records <- list(a_record(1, "lost", superseded = TRUE), a_record(2, "lost", superseded = TRUE), a_record(3, NULL), a_record(4, "done"))
  expect_identical(suppressMessages(collect(watch_routes(records)))$values, list(NULL, "done"))
})

test_that("a missing value is reported once", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  in_utc()
  records <- list(
    a_record(1, 1), a_record(2, sum), a_record(3, kind = "removed"), a_record(4, 2), a_record(5, kind = "removed"),
    a_record(6, kind = "problem", words = "it is a {connection}\033[2J")
  )
  expect_snapshot(seen <- collect(watch_routes(records)))
  expect_identical(seen$values, list(1, 2))
  expect_identical(suppressMessages(collect(watch_routes(records), trust = TRUE))$values, list(1, sum, 2))
})

test_that("Ctrl-C and stopWatching() stop watching, not the job", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  routes <- watch_routes(list(a_record(1, 1), a_record(2, 2)))
  press <- function(value, time) signalCondition(structure(class = c("interrupt", "condition"), list(message = "", call = NULL)))
  count <- 0
  with_market(routes, {
    expect_snapshot(job <- watchVar(job_id, "x", press))
    expect_snapshot(watchVar(job_id, "x", function(value, time) {
      count <<- count + 1
      local(stopWatching())
    }))
  })
  expect_identical(count, 1)
  expect_identical(id_of(job, "id", "job", NULL), job_id)
  expect_snapshot(stopWatching(), error = TRUE)
})

test_that("an error of the user's function is raised", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  routes <- watch_routes(list(a_record(1, 1)))
  with_market(routes, {
    expect_error(watchVar(job_id, "x", function(value, time) stop("mine")), "mine")
    expect_error(watchVar(job_id, "x", function(value, time) deleteJob(machine_id)), class = "remotist_not_found")
  })
})

test_that("a variable that is not watched, or has no value, raises an error", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  with_market(watch_routes(list(), state = "cancelled"), expect_snapshot(watchVar(job_id, "x", print)))
  with_market(watch_routes(list(), watched = "y"), expect_snapshot(watchVar(job_id, "z", print), error = TRUE))
  expect_snapshot(error = TRUE, {
    watchVar(job_id, "x")
    watchVar(job_id, "x", "print")
    watchVar(job_id, "x", print, history = 1)
    watchVar(job_id, "", print)
  })
})

test_that("an outage of the market is waited out at every request", {
  logged_in()
  bytes <- serialize(3, NULL)
  chunked <- a_record(3, 3)
  chunked$base64 <- NULL
  chunked$chunks <- list(sha256(bytes))
  chunked$size <- length(bytes)
  routes <- watch_routes(list(a_record(1, 1), a_record(2, 2), chunked))
  routes[[paste0("GET /blob/", sha256(bytes))]] <- httr2::response(200L, body = bytes)
  # Each route fails once before it answers.
  fail_once <- function(route) {
    force(route)
    failed <- FALSE
    function(req) {
      if (!failed) {
        failed <<- TRUE
        return(problem("busy", 503L, "The market is busy", "try later"))
      }
      if (is.function(route)) route(req) else route
    }
  }
  seen <- numeric()
  words <- testthat::capture_messages(with_market(lapply(routes, fail_once), watchVar(job_id, "x", function(value, time) seen <<- c(seen, value))))
  expect_identical(seen, c(1, 2, 3))
  expect_identical(sum(grepl("The market can be reached again", words, fixed = TRUE)), 4L)
  shown <- character()
  with_market(lapply(routes, fail_once), shown <- utils::capture.output(suppressMessages(plotPartialResult(job_id, "x", text = TRUE, live = TRUE))))
  expect_length(shown, 3L)
})
