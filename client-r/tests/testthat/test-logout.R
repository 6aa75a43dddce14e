test_that("logging out forgets the token, whatever the market says", {
  logged_in()
  with_market(list("POST /user/logout" = nothing()), expect_snapshot(logout()))
  expect_null(session$token)
  expect_snapshot(logout())
  logged_in()
  with_market(list("POST /user/logout" = problem("unauthenticated", 401L, "Not logged in", "log in")), expect_snapshot(logout()))
  expect_null(session$token)
})
