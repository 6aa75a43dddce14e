test_that("logging out deletes the token, whatever the market responds", {
  logged_in()
  with_market(list("POST /user/logout" = nothing()), expect_snapshot(logout()))
  expect_null(r_session$token)
  expect_snapshot(logout())
  logged_in()
  with_market(list("POST /user/logout" = problem("unauthenticated", 401L, "Not logged in", "log in")), expect_snapshot(logout()))
  expect_null(r_session$token)
})
