test_that("a job that has not ended is not deleted, and the message says how to end it", {
  logged_in()
  routes <- list()
  routes[[paste0("DELETE /job/", job_id)]] <- nothing()
  with_market(routes, expect_snapshot(deleteJob(job_id)))
  routes[[paste0("DELETE /job/", job_id)]] <- problem("wrong_state", 409L, "Not possible in this state", "it runs")
  with_market(routes, expect_snapshot(deleteJob(job_id), error = TRUE))
})
