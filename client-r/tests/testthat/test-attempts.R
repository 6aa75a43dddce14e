test_that("fields of the wrong type, without a value or out of range become NA", {
  odd <- list("x", TRUE, -1, 1e300, list(), list(1, 2), NULL)
  for (value in odd) {
    attempt <- list(number = 1)
    for (field in setdiff(names(an_attempt(1)), "number")) attempt[field] <- list(if (is.character(value) && grepl("machine|outcome", field)) 5 else value)
    read <- new_attempts(list(attempt))
    expect_identical(nrow(read), 1L)
    expect_true(all(is.na(read[setdiff(names(read), c("number", "skipped"))])))
    expect_identical(read$skipped, "")
    checkpoint <- list(sequence = 1)
    for (field in setdiff(names(a_checkpoint(1, 1, "")), c("sequence", "r_version", "architecture", "usable"))) checkpoint[field] <- list(value)
    read <- new_checkpoints(list(checkpoint))
    expect_true(all(is.na(read[c("attempt", "time", "size", "sent", "pause_seconds", "file", "line", "call", "cpu_seconds", "usable")])))
    expect_no_error(utils::capture.output(print(structure(list(attempts = new_attempts(list(attempt)), checkpoints = read), class = "remotist_job_history"))))
  }
  expect_identical(nrow(new_attempts(list(list(number = 0), list(number = 1.5), list(number = "1"), list()))), 0L)
  skipped <- list(1, list(), list(sequence = "x", reason = 5), list(sequence = 8, reason = "torn"))
  expect_identical(new_attempts(list(an_attempt(1, skipped = skipped)))$skipped, "checkpoint NA; checkpoint NA; checkpoint 8: torn")
  expect_identical(lengths(strsplit(new_attempts(list(an_attempt(1, skipped = rep(skipped, 100))))$skipped, ";", fixed = TRUE)), skipped_max)
})

test_that("control characters and long texts of the market do not reach the terminal", {
  logged_in()
  odd <- "\033]0;x\a\nnext"
  long <- strrep("x", 1e5)
  attempts <- list(an_attempt(1, machine = odd, machine_name = odd, outcome = odd, skipped = list(list(sequence = 1, reason = odd), list(sequence = 2, reason = long))))
  checkpoints <- list(a_checkpoint(1, 1, odd, position = list(file = odd, line = 1, call = odd), usable = FALSE, why = odd, packages = list(odd, long, 5)))
  job <- list(state = "running", checkpoint_problem = odd, resume_problem = long, name = odd)
  local_mocked_bindings(current_time = function() 1.8e9)
  with_market(history_routes(attempts, checkpoints, job), {
    said <- utils::capture.output({
      print(jobHistory(job_id))
      print(viewJob(job_id))
      plotJob(job_id, text = TRUE)
    })
  })
  expect_false(any(grepl("[\033\a]", said)))
  expect_lt(max(nchar(said)), 500L)
})
