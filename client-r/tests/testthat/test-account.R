test_that("an account shows balance, held credits and storage", {
  logged_in()
  body <- list(
    id = job_id, email = "ada@example.org", role = "user", created_at = "2026-02-01T10:00:00.000Z",
    balance = 98.500001, held = 1, storage_used = 1234567, storage_quota = 10737418240
  )
  with_market(list("GET /user/" = json_reply(body)), mine <- account())
  expect_identical(mine$balance, 98.500001)
  mine$created_at <- as.POSIXct(NA)
  expect_snapshot(mine)
})

test_that("without a login, or with an expired one, the message says to log in", {
  logged_out()
  options(remotist.url = "http://market.test")
  on.exit(options(remotist.url = NULL), add = TRUE)
  expect_snapshot(account(), error = TRUE)
  logged_in()
  with_market(list("GET /user/" = problem("unauthenticated", 401L, "Not logged in", "the token is unknown, expired or revoked: log in")), {
    expect_snapshot(account(), error = TRUE)
    expect_error(account(), class = "remotist_unauthenticated")
  })
})
