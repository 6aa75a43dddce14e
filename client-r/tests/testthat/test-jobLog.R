test_that("the log has one element per line", {
  logged_in()
  routes <- list()
  routes[[paste0("GET /job/", job_id, "/log")]] <- file_page(list(path = "log.txt", size = 13, text = "one\r\ntwo\n\n\u00e9x"))
  with_market(routes, expect_identical(jobLog(job_id), c("one", "two", "", "\u00e9x")))
  routes[[paste0("GET /job/", job_id, "/log")]] <- file_page()
  with_market(routes, expect_identical(jobLog(job_id), character()))
})
