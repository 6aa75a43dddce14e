event <- function(version, job) {
  data <- jsonlite::toJSON(job, auto_unbox = TRUE, null = "null")
  httr2::response(200L, body = charToRaw(paste0("retry: 500\nid: ", version, "\nevent: job\ndata: ", data, "\n\n")))
}

# Answers with one after the other, and then with the last again.
in_turn <- function(...) {
  replies <- list(...)
  i <- 0L
  function(req) {
    i <<- min(i + 1L, length(replies))
    replies[[i]]
  }
}

wait_routes <- function(...) {
  routes <- list()
  routes[[paste0("GET /job/", job_id, "/events")]] <- in_turn(...)
  routes
}

test_that("waiting shows each change and returns the job", {
  logged_in()
  here <- market(wait_routes(
    event(1, a_job()), httr2::response(200L, body = charToRaw(": nothing new\n\n")),
    event(3, a_job(state = "running", progress = 0.5, progress_message = "half")), event(5, a_job(state = "completed"))
  ))
  httr2::with_mocked_responses(here$mock, expect_snapshot(job <- waitJob(job_id)))
  expect_identical(job$state, "completed")
  expect_identical(lapply(here$requests(), function(one) one$headers[["Last-Event-ID"]]), list(NULL, "1", "1", "3"))
})

test_that("the error of a job is raised as a condition", {
  logged_in()
  routes <- wait_routes(event(5, a_job(state = "failed", failure_code = "r_error", failure_detail = "no 3")))
  document <- list(ending = "r_error", message = "no {3}\033[1m", call = "f(y)", traceback = list("f(y)"))
  routes[[paste0("GET /job/", job_id, "/error")]] <- file_page(list(path = "error.json", size = nchar(text <- as.character(jsonlite::toJSON(document, auto_unbox = TRUE)), "bytes"), text = text))
  with_market(routes, {
    expect_snapshot(waitJob(job_id), error = TRUE)
    caught <- tryCatch(suppressMessages(waitJob(job_id)), remotist_job_failed = identity)
  })
  expect_s3_class(caught, "remotist_error")
  expect_identical(caught$job, job_id)
  expect_identical(caught$code, "r_error")
  expect_identical(caught$failed_call, "f(y)")
  expect_identical(caught$traceback, "f(y)")
})

test_that("every other failure comes with advice", {
  logged_in()
  for (code in c("price_used_up", "limit_ram", "limit_disc", "limit_inodes", "quota_exceeded", "lost_too_often", "unreportable", "invalid_files", "handed_back_too_often", "killed", "something_new")) {
    routes <- wait_routes(event(5, a_job(state = "failed", failure_code = code, failure_detail = "it was so")))
    with_market(routes, expect_snapshot(suppressMessages(waitJob(job_id)), error = TRUE))
  }
})

test_that("words in backquotes become code, and a code without advice or of a newer market has none", {
  advice <- function(code) advice_of(failure_advices, code)
  expect_identical(advice("limit_frames"), "It sent too many messages. Report progress less often.")
  expect_match(advice("price_used_up"), "a higher {.code price}.", fixed = TRUE)
  for (code in c("r_error", "something_new", "", NA_character_)) expect_null(advice(code))
  expect_false(any(grepl("[{}]", c(failure_advices, outcome_causes, outcome_advices))))
})

test_that("cancelled and expired jobs are conditions, too", {
  logged_in()
  with_market(wait_routes(event(5, a_job(state = "cancelled"))), {
    expect_snapshot(waitJob(job_id), error = TRUE)
    expect_error(suppressMessages(waitJob(job_id)), class = "remotist_job_cancelled")
  })
  with_market(wait_routes(event(5, a_job(state = "expired"))), {
    expect_snapshot(waitJob(job_id), error = TRUE)
    expect_error(suppressMessages(waitJob(job_id)), class = "remotist_job_expired")
  })
})

test_that("every end but completed is a condition", {
  logged_in()
  for (state in setdiff(ended_states, "completed")) {
    expect_identical(unname(outcome_conditions[state]), paste0("job_", state))
    with_market(wait_routes(event(5, a_job(state = state))), {
      expect_error(suppressMessages(waitJob(job_id)), class = paste0("remotist_", outcome_conditions[[state]]))
    })
  }
  # A state that one of the tables lacks does not pass for a result.
  local_mocked_bindings(ended_states = c(ended_states, "preempted"))
  with_market(wait_routes(event(5, a_job(state = "preempted"))), expect_error(suppressMessages(waitJob(job_id))))
})

test_that("a timeout ends waiting, not the job", {
  logged_in()
  with_market(wait_routes(event(1, a_job(state = "running"))), {
    expect_snapshot(waitJob(job_id, timeout = 0), error = TRUE)
    expect_error(suppressMessages(waitJob(job_id, timeout = 0)), class = "remotist_timeout")
  })
  expect_snapshot(error = TRUE, {
    waitJob(job_id, timeout = "a while")
    waitJob(job_id, timeout = -1)
    waitJob(job_id, log = NA)
  })
})

test_that("Ctrl-C stops waiting, not the job", {
  logged_in()
  press <- function(req) signalCondition(structure(class = c("interrupt", "condition"), list(message = "", call = NULL)))
  routes <- list()
  routes[[paste0("GET /job/", job_id, "/events")]] <- press
  with_market(routes, expect_snapshot(job <- waitJob(job_id)))
  expect_identical(id_of(job, "id", "job", NULL), job_id)
  expect_snapshot(job)
})

test_that("the log is shown as it grows, and cannot act on the terminal", {
  logged_in()
  routes <- list()
  routes[[paste0("GET /job/", job_id)]] <- in_turn(json_reply(a_job(state = "running")), json_reply(a_job(state = "completed")))
  page <- function(text) file_page(list(path = "log.txt", size = nchar(text, "bytes"), text = text))
  routes[[paste0("GET /job/", job_id, "/log")]] <- in_turn(page("one\n"), page("one\n\033[2Jtwo {1+1}\n"))
  with_market(routes, expect_snapshot(waitJob(job_id, log = TRUE)))
})

away <- function(req) stop(structure(class = c("httr2_failure", "error", "condition"), list(message = "Could not connect to server", call = NULL)))
# Answers by turns, of which some may be functions that fail.
by_turns <- function(...) {
  turn <- in_turn(...)
  function(req) {
    reply <- turn(req)
    if (is.function(reply)) reply(req) else reply
  }
}
too_busy <- function() problem("busy", 503L, "The market is busy", "more requests than it takes on")
no_gateway <- function() httr2::response(502L, url = "http://market.test/", body = charToRaw("<html>bad gateway</html>"))

test_that("an outage of the market is waited out and reported once", {
  logged_in()
  routes <- list()
  routes[[paste0("GET /job/", job_id, "/events")]] <- by_turns(event(1, a_job(state = "running")), too_busy(), away, no_gateway(), event(3, a_job(state = "completed")))
  with_market(routes, expect_snapshot(job <- waitJob(job_id)))
  expect_identical(job$state, "completed")
  routes[[paste0("GET /job/", job_id)]] <- by_turns(away, json_reply(a_job(state = "completed")))
  page <- file_page(list(path = "log.txt", size = 4, text = "one\n"))
  routes[[paste0("GET /job/", job_id, "/log")]] <- by_turns(too_busy(), page)
  with_market(routes, expect_snapshot(waitJob(job_id, log = TRUE)))
})

test_that("an outage is waited out until the timeout", {
  logged_in()
  routes <- list()
  routes[[paste0("GET /job/", job_id, "/events")]] <- by_turns(event(1, a_job(state = "running")), away)
  with_market(routes, expect_error(suppressMessages(waitJob(job_id, timeout = 1)), class = "remotist_timeout"))
  routes[[paste0("GET /job/", job_id, "/events")]] <- away
  routes[[paste0("GET /job/", job_id)]] <- away
  with_market(routes, expect_error(suppressMessages(waitJob(job_id, timeout = 1)), class = "remotist_unreachable"))
})

test_that("a refusal is no outage", {
  logged_in()
  for (code in c(unauthenticated = 401L, not_found = 404L, internal = 500L)) {
    routes <- wait_routes(problem("refused", code, "No", "because"))
    with_market(routes, expect_error(waitJob(job_id), class = "remotist_refused"))
  }
  portal <- httr2::response(200L, url = "http://market.test/", body = charToRaw("data: <html>log in to this hotel</html>"))
  with_market(wait_routes(portal), expect_error(waitJob(job_id), class = "remotist_unreachable"))
  bad <- function(req) stop(structure(class = c("httr2_failure", "error", "condition"), list(message = "SSL certificate problem", call = NULL)))
  routes <- list()
  routes[[paste0("GET /job/", job_id, "/events")]] <- bad
  with_market(routes, expect_error(waitJob(job_id), class = "remotist_unreachable"))
})

test_that("a long error message is truncated", {
  logged_in()
  # cli took minutes for a megabyte of lines.
  text <- jsonlite::toJSON(list(message = strrep("a line\n", 120000), call = strrep("f(", 20000)), auto_unbox = TRUE)
  routes <- list()
  routes[[paste0("GET /job/", job_id, "/error")]] <- file_page(list(path = "error.json", size = nchar(text, "bytes"), text = as.character(text)))
  job <- new_job(a_job(state = "failed", failure_code = "r_error", failure_detail = "x"))
  error <- with_market(routes, tryCatch(raise_failure(job, NULL), remotist_job_failed = identity))
  said <- conditionMessage(error)
  expect_lt(nchar(said), 4 * message_chars_max)
  expect_match(said, "truncated", fixed = TRUE)
  expect_identical(nchar(error$failed_call), 40000L)
  expect_identical(nchar(truncate_text(strrep("x", message_chars_max))), message_chars_max)
})
