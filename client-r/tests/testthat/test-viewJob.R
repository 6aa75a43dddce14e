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
