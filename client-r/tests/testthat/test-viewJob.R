test_that("a job is given as an object or by its id", {
  logged_in()
  routes <- list()
  routes[[paste0("GET /job/", job_id)]] <- json_reply(a_job(state = "running"))
  with_market(routes, {
    expect_identical(viewJob(job_id)$state, "running")
    expect_identical(viewJob(new_job(a_job()))$state, "running")
  })
})

test_that("an unknown job is reported", {
  logged_in()
  with_market(list(), {
    expect_snapshot(viewJob(job_id), error = TRUE)
    expect_error(viewJob(job_id), class = "remotist_not_found")
  })
})

test_that("attempts and checkpoints are printed", {
  logged_in()
  in_utc()
  with_market(history_routes(job = list(
    state = "running", checkpoint = TRUE, checkpoint_interval_ms = 293000, checkpoint_at = "2026-02-01T10:28:00.000Z", checkpoint_problem = "within optim()"
  )), job <- viewJob(job_id))
  expect_snapshot(job)
  expect_identical(nrow(job$attempts), 3L)
  expect_identical(nrow(job$checkpoints), 3L)
})

test_that("a job without attempts needs one request and is printed as before", {
  logged_in()
  in_utc()
  here <- market(history_routes(list(), list(), job = list(state = "queued", checkpoint = TRUE)))
  httr2::with_mocked_responses(here$mock, job <- viewJob(job_id))
  expect_identical(here$received(), paste0("GET /job/", job_id))
  expect_identical(utils::capture.output(print(job)), utils::capture.output(print(new_job(a_job()))))
  expect_identical(nrow(job$attempts), 0L)
})

test_that("the market may be older than the lists of attempts", {
  logged_in()
  routes <- history_routes()
  routes[[paste0("GET /job/", job_id, "/attempts")]] <- NULL
  with_market(routes, expect_identical(nrow(viewJob(job_id)$attempts), 0L))
})

test_that("it is said why a job waits for a machine, started from the beginning, or has no checkpoints", {
  logged_in()
  in_utc()
  view <- function(...) with_market(history_routes(list(), list(), job = list(...)), viewJob(job_id))
  expect_snapshot({
    view(state = "queued", checkpoint = TRUE, resume_until = "2026-02-01T10:42:00.000Z", resume_problem = "no machine has R 4.5 on x86_64")
    view(state = "running", checkpoint = TRUE, resume_problem = "no machine has R 4.5 on x86_64")
    view(state = "running", checkpoint = TRUE, checkpoint_problem = "the script has a syntax error")
    view(state = "completed", checkpoint = TRUE, checkpoint_interval_ms = 293000, checkpoint_problem = "within optim()")
    view(state = "running", checkpoint = FALSE)
  })
})

test_that("of many attempts the newest are printed", {
  logged_in()
  in_utc()
  checkpoints <- lapply(1:7, function(i) a_checkpoint(i, i, "2026-02-01T10:18:00.000Z"))
  with_market(history_routes(many_attempts(250), checkpoints), expect_snapshot(viewJob(job_id)))
})
