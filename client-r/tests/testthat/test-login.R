token_reply <- json_reply(list(token = "remotist_login_secret", expires_at = "2099-01-01T00:00:00.000Z"))

test_that("the token stays in the R session and is not shown", {
  logged_out()
  with_market(list("POST /user/login" = token_reply), {
    expect_snapshot(expires <- login("ada@example.org", "correct horse", url = "http://127.0.0.1:1/"))
  })
  expect_identical(r_session$token, "remotist_login_secret")
  expect_identical(r_session$url, "http://127.0.0.1:1")
  expect_s3_class(expires, "POSIXct")
  expect_false(file.exists(saved_login_file()))
  expect_false(any(grepl("secret", capture.output(print(httr2::last_request())))))
})

test_that("a saved login can be read by its owner only, and later R sessions use it", {
  logged_out()
  with_market(list("POST /user/login" = token_reply, "POST /user/logout" = nothing()), {
    suppressMessages(login("ada@example.org", "correct horse", url = "http://127.0.0.1:1", remember = TRUE))
    skip_on_os("windows")
    expect_identical(format(file.mode(saved_login_file())), "600")
    forget_login()
    expect_identical(login_token(NULL), "remotist_login_secret")
    forget_login()
    Sys.chmod(saved_login_file(), "644")
    expect_snapshot(account(), error = TRUE, transform = without_folders)
    Sys.chmod(saved_login_file(), "600")
    suppressMessages(logout())
  })
  expect_false(file.exists(saved_login_file()))
})

test_that("a saved login is not used for another market", {
  logged_out()
  store_login("http://127.0.0.1:1", "remotist_login_secret", "2099-01-01T00:00:00.000Z", "ada@example.org")
  save_login()
  forget_login()
  options(remotist.url = "http://127.0.0.1:2")
  on.exit({
    options(remotist.url = NULL)
    delete_saved_login()
  }, add = TRUE)
  expect_error(account(), class = "remotist_unauthenticated")
})

test_that("sending a password without encryption raises a warning", {
  logged_out()
  with_market(list("POST /user/login" = token_reply), {
    expect_snapshot(login("ada@example.org", "correct horse", url = "http://market.test"))
    expect_no_warning(suppressMessages(login("ada@example.org", "correct horse", url = "https://market.test")))
    expect_no_warning(suppressMessages(login("ada@example.org", "correct horse", url = "http://localhost:8080")))
  })
})

test_that("invalid arguments and a wrong password are refused", {
  logged_out()
  expect_snapshot(error = TRUE, {
    login(c("a@b", "c@d"), "correct horse")
    login("ada@example.org", NULL)
    login("ada@example.org", "correct horse")
    login("ada@example.org", "correct horse", url = "ftp://market.test")
    login("ada@example.org", "correct horse", url = "https://market.test", remember = "yes")
  })
  with_market(list("POST /user/login" = problem("wrong_credentials", 401L, "E-mail and password do not match", "check both")), {
    expect_snapshot(login("ada@example.org", "correct horse", url = "https://market.test"), error = TRUE)
  })
  expect_null(r_session$token)
})
