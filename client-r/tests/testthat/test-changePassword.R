test_that("the password is changed, and invalid ones are refused", {
  logged_in()
  with_market(list("POST /user/password" = json_reply(list(logins_ended = 2))), {
    expect_snapshot(changePassword("correct horse", "another horse"))
  })
  expect_snapshot(error = TRUE, {
    changePassword("short", "another horse")
    changePassword("correct horse", "correct horse")
  })
})
