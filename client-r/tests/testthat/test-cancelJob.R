test_that("cancelling reports the new state", {
  logged_in()
  routes <- list()
  routes[[paste0("POST /job/", job_id, "/cancel")]] <- json_reply(a_job(state = "cancelled"))
  with_market(routes, expect_snapshot(cancelJob(job_id)))
  routes[[paste0("POST /job/", job_id, "/cancel")]] <- problem("wrong_state", 409L, "Not possible in this state", "the job has ended")
  with_market(routes, expect_snapshot(cancelJob(job_id), error = TRUE))
})
