test_that("a job prints as a small table", {
  job <- new_job(a_job(created_at = NULL, state = "running", progress = 0.25, progress_message = "chain 1\033[2J of 4", partial_results_vars = list("x", "y")))
  expect_snapshot(job)
  expect_snapshot(new_job(a_job(created_at = NULL, state = "failed", failure_code = "r_error", failure_detail = "no 3\nmore")))
  expect_identical(as.character(job), job_id)
  expect_identical(format(job), paste0("<job ", job_id, " \"a mean\": running>"))
})

test_that("control characters in a job's texts are escaped", {
  odd <- "\033]0;x\a"
  job <- new_job(a_job(id = odd, name = odd, exec_file = odd, state = odd, failure_code = odd, failure_detail = odd, progress = 0.5, progress_message = odd, partial_results_vars = list(odd)))
  said <- c(format(job), utils::capture.output(print(job)), as.character(job), job_progress_text(job))
  expect_false(any(grepl("[\033\a]", said)))
  expect_match(said, "<U\\+001B>", all = FALSE)
})

test_that("fields of the wrong type become NA", {
  job <- new_job(list(id = list(1), state = 5, progress = 1e300, failure_code = TRUE))
  expect_identical(job[c("id", "state", "failure_code", "progress")], list(id = NA_character_, state = NA_character_, failure_code = NA_character_, progress = 1))
  expect_identical(new_job(a_job(progress = -2))$progress, 0)
  expect_identical(new_job(a_job())$progress, NA_real_)
})
