test_that("registration creates an account and names the next step", {
  logged_out()
  here <- market(list("POST /user/register" = json_reply(list(id = job_id, email = "ada@example.org"), 201L)))
  httr2::with_mocked_responses(here$mock, {
    expect_snapshot(id <- register("ada@example.org", "correct horse", url = "http://market.test/"))
  })
  expect_identical(id, job_id)
  expect_identical(sent_json(here$requests()[[1L]]), list(email = "ada@example.org", password = "correct horse"))
})

test_that("invalid arguments are refused before anything is sent", {
  logged_out()
  expect_snapshot(error = TRUE, {
    register()
    register("ada", "correct horse")
    register("ada@example.org", 12345678)
    register("ada@example.org", "short")
    register("ada@example.org", "correct horse")
    register("ada@example.org", "correct horse", url = "market.test")
    register("ada@example.org", "correct horse", url = "http://market.test", invitation = 1)
  })
})

test_that("an e-mail address that is taken raises its own condition", {
  logged_out()
  with_market(list("POST /user/register" = problem("email_taken", 409L, "This e-mail has an account", "log in instead")), {
    expect_snapshot(register("ada@example.org", "correct horse", url = "http://market.test"), error = TRUE)
    expect_error(register("ada@example.org", "correct horse", url = "http://market.test"), class = "remotist_email_taken")
  })
})
