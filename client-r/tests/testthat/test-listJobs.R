test_that("jobs are a data frame that prints as a short table", {
  logged_in()
  page <- json_reply(list(jobs = list(a_job(created_at = NULL), a_job(state = "completed", progress = 1, created_at = NULL)), page = 1, per_page = 50, more = TRUE))
  with_market(list("GET /job/" = page), jobs <- listJobs())
  expect_s3_class(jobs, "data.frame")
  expect_identical(jobs$state, c("queued", "completed"))
  expect_snapshot(jobs)
})

test_that("without jobs the data frame is empty", {
  logged_in()
  with_market(list("GET /job/" = json_reply(list(jobs = list(), page = 1, per_page = 50, more = FALSE))), {
    expect_identical(nrow(listJobs()), 0L)
    expect_snapshot(listJobs())
    expect_snapshot(listJobs(2))
  })
  expect_snapshot(error = TRUE, {
    listJobs(0)
    listJobs("a")
  })
})
