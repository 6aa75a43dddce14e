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

test_that("a job's error is raised as its own condition", {
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

test_that("every other way to fail says what to do", {
  logged_in()
  for (code in c("price_used_up", "limit_ram", "limit_disc", "limit_inodes", "quota_exceeded", "lost_too_often", "unreportable", "invalid_files", "handed_back_too_often", "killed", "something_new")) {
    routes <- wait_routes(event(5, a_job(state = "failed", failure_code = code, failure_detail = "it was so")))
    with_market(routes, expect_snapshot(suppressMessages(waitJob(job_id)), error = TRUE))
  }
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

test_that("the time to wait ends, the job does not", {
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

test_that("Ctrl-C only stops waiting", {
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
