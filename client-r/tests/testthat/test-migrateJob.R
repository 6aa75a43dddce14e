migrate_routes <- function(answer, ...) {
  routes <- list()
  routes[[paste0("POST /job/", job_id, "/migrate")]] <- answer
  routes[[paste0("GET /job/", job_id)]] <- json_reply(a_job(...))
  routes
}

test_that("moving a job is requested once", {
  logged_in()
  for (answer in list(httr2::response(202L), json_reply(list(), 202L))) {
    here <- market(migrate_routes(answer))
    httr2::with_mocked_responses(here$mock, expect_snapshot(moved <- migrateJob(job_id)))
    expect_null(moved)
    expect_identical(here$received(), paste0("POST /job/", job_id, "/migrate"))
  }
})

test_that("a job that is not running cannot be moved, and the error says why", {
  logged_in()
  refusal <- problem("wrong_state", 409L, "Not possible in this state", "the job is not running")
  move <- function(...) with_market(migrate_routes(refusal, ...), migrateJob(job_id))
  expect_snapshot(error = TRUE, {
    move(state = "queued")
    move(state = "completed")
    move(state = "uploading")
  })
  caught <- expect_error(move(state = "queued"), class = "remotist_wrong_state")
  expect_identical(caught[c("status", "state", "job")], list(status = 409L, state = "queued", job = job_id))
})

test_that("a request that may have been executed is not repeated", {
  logged_in()
  here <- market(migrate_routes(problem("busy", 503L, "The market is busy", "try again")))
  httr2::with_mocked_responses(here$mock, expect_error(migrateJob(job_id), class = "remotist_busy"))
  expect_length(here$received(), 1L)
})

test_that("invalid arguments, unknown jobs and those of others are refused", {
  logged_in()
  with_market(list(), expect_snapshot(error = TRUE, {
    migrateJob()
    migrateJob("my job")
    migrateJob(job_id)
  }))
  with_market(migrate_routes(problem("forbidden", 403L, "Not allowed", "only the owner or an admin may do this")), expect_snapshot(migrateJob(job_id), error = TRUE))
})
