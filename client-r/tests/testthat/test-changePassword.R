test_that("the password is changed, and wrong ones are told", {
  logged_in()
  with_market(list("POST /user/password" = json_reply(list(sessions_ended = 2))), {
    expect_snapshot(changePassword("correct horse", "another horse"))
  })
  expect_snapshot(error = TRUE, {
    changePassword("short", "another horse")
    changePassword("correct horse", "correct horse")
  })
})
