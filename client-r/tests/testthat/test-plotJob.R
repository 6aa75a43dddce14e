plain_text <- function(env = parent.frame()) {
  before <- options(cli.unicode = FALSE, cli.width = 70L, width = 70L)
  do.call(on.exit, list(bquote(options(.(before))), add = TRUE), envir = env)
}

noon <- as.numeric(as.POSIXct("2026-02-01 10:40:00", tz = "UTC"))

# A job of n attempts, of which the newest three have a checkpoint each.
life <- function(n) {
  attempts <- many_attempts(n)
  checkpoints <- lapply(seq(max(1, n - 2), n), function(i) a_checkpoint(i, i, sub("00.000Z", "59.000Z", attempts[[i]]$assigned_at)))
  history_routes(attempts, checkpoints, list(state = "completed", ended_at = attempts[[n]]$ended_at))
}

test_that("a job is plotted as text", {
  logged_in()
  in_utc()
  plain_text()
  local_mocked_bindings(current_time = function() noon)
  with_market(history_routes(), expect_snapshot(history <- plotJob(job_id, text = TRUE)))
  expect_s3_class(history, "remotist_job_history")
  expect_identical(history$attempts$number, c(1, 2, 3))
  with_market(life(1), expect_snapshot(plotJob(job_id, text = TRUE)))
  with_market(life(12), expect_snapshot(plotJob(job_id, text = TRUE)))
})

test_that("of more than 50 attempts the newest 50 are plotted", {
  logged_in()
  in_utc()
  plain_text()
  with_market(life(50), lines <- utils::capture.output(plotJob(job_id, text = TRUE)))
  expect_length(lines, 53L)
  with_market(life(51), lines <- utils::capture.output(plotJob(job_id, text = TRUE)))
  expect_identical(lines[1:2], c("a mean: completed, 51 attempts, 51 checkpoints", "1 earlier attempt is not shown"))
  expect_match(lines[[3L]], "^ 2 ")
  expect_length(lines, 54L)
  with_market(life(75), lines <- utils::capture.output(plotJob(job_id, text = TRUE)))
  expect_identical(lines[[2L]], "25 earlier attempts are not shown")
  expect_lte(max(nchar(lines)), 70L)
})

test_that("a job that was cancelled while it waited ends after its last attempt", {
  logged_in()
  in_utc()
  plain_text()
  job <- list(state = "cancelled", ended_at = "2026-02-01T10:40:00.000Z")
  with_market(history_routes(some_attempts()[1:2], job = job), expect_snapshot(plotJob(job_id, text = TRUE)))
})

test_that("times that are missing or out of order are plotted, too", {
  in_utc()
  plain_text()
  local_mocked_bindings(current_time = function() noon)
  attempts <- new_attempts(list(
    an_attempt(1, outcome = "lost"), an_attempt(2, assigned_at = "2026-02-01T10:10:00.000Z", ended_at = "2020-01-01T00:00:00.000Z", outcome = "of a newer market"),
    an_attempt(3, assigned_at = NULL), an_attempt(4, assigned_at = "2026-02-01T10:20:00.000Z", accepted_at = NULL)
  ))
  checkpoints <- new_checkpoints(list(a_checkpoint(1, 3, "2026-02-01T10:00:00.000Z"), a_checkpoint(2, 1, "soon"), a_checkpoint(3, 1, "2026-02-01T10:05:00.000Z")))
  history <- list(attempts = attempts, checkpoints = checkpoints)
  bars <- job_bars(new_job(a_job(state = "assigned")), history, current_time())
  expect_snapshot(writeLines(job_lines(bars)))
  # The clock of this machine may be behind that of the market.
  expect_no_error(job_lines(job_bars(new_job(a_job(state = "assigned")), history, 0)))
  # A job that has ended at an unknown time, and one of a single moment.
  expect_no_error(job_lines(job_bars(new_job(a_job(state = "failed")), history, noon)))
  moment <- list(attempts = new_attempts(list(an_attempt(1, ended_at = "2026-02-01T10:00:00.000Z", outcome = "lost"))), checkpoints = new_checkpoints(list()))
  expect_no_error(job_lines(job_bars(new_job(a_job(state = "queued")), moment, noon)))
  distant <- list(attempts = new_attempts(list(an_attempt(1, assigned_at = "0001-01-01T00:00:00Z", ended_at = "9999-01-01T00:00:00Z"))), checkpoints = new_checkpoints(list()))
  expect_no_error(job_lines(job_bars(new_job(a_job(state = "queued")), distant, noon)))
})

test_that("a job is plotted on a graphics device", {
  logged_in()
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  on.exit({
    grDevices::dev.off()
    unlink(file)
  })
  for (routes in list(history_routes(), history_routes(checkpoints = list()), life(1), life(50), life(75))) {
    with_market(routes, expect_no_error(plotJob(job_id)))
  }
  distant <- list(an_attempt(1, assigned_at = "0001-01-01T00:00:00Z", ended_at = "9999-01-01T00:00:00Z", outcome = "odd"))
  with_market(history_routes(distant, list(), list(state = "cancelled", ended_at = "2026-02-01T10:00:00Z")), expect_no_error(plotJob(job_id)))
})

test_that("every outcome has a colour", {
  expect_setequal(names(outcome_colours), c("assigned", "running", "refused", "lost", "handed_back", ended_states))
  expect_identical(colours_of(c("lost", "odd")), c("#E69F00", "#555555"))
})

test_that("invalid arguments, and jobs that no machine was assigned to, are refused", {
  logged_in()
  with_market(history_routes(list(), list(), list(state = "queued")), expect_snapshot(error = TRUE, {
    plotJob()
    plotJob("my job")
    plotJob(job_id, text = NA)
    plotJob(job_id)
  }))
  with_market(history_routes(list(), list()), expect_error(plotJob(job_id, text = TRUE), class = "remotist_not_drawable"))
  with_market(list(), expect_error(plotJob(job_id), class = "remotist_not_found"))
})
