test_that("a job prints as a small table", {
  job <- new_job(a_job(created_at = NULL, state = "running", progress = 0.25, progress_message = "chain 1\033[2J of 4", partial_results_vars = list("x", "y")))
  expect_snapshot(job)
  expect_snapshot(new_job(a_job(created_at = NULL, state = "failed", failure_code = "r_error", failure_detail = "no 3\nmore")))
  expect_identical(as.character(job), job_id)
  expect_identical(format(job), paste0("<job ", job_id, " \"a mean\": running>"))
})
