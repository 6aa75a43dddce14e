test_that("a market that cannot be reached is reported, with advice", {
  logged_out()
  store_login("http://127.0.0.1:1", "remotist_login_secret", "2099-01-01T00:00:00.000Z", "ada@example.org")
  # Nothing listens on port 1.
  expect_snapshot(account(), error = TRUE, transform = function(lines) sub("^x .*", "x <what libcurl says>", lines))
  expect_error(account(), class = "remotist_unreachable")
})

test_that("an unknown host name is reported", {
  logged_out()
  store_login("http://market.invalid", "remotist_login_secret", "2099-01-01T00:00:00.000Z", "ada@example.org")
  expect_snapshot(account(), error = TRUE, transform = function(lines) sub("^x .*", "x <what libcurl says>", lines))
})

test_that("a response from another server is reported", {
  logged_in()
  page <- httr2::response(302L, url = "http://market.test/user/", body = charToRaw("<html>log in to this hotel</html>"))
  with_market(list("GET /user/" = page), expect_snapshot(account(), error = TRUE))
  page <- httr2::response(200L, url = "http://market.test/user/", body = charToRaw("<html>hello</html>"))
  with_market(list("GET /user/" = page), expect_snapshot(account(), error = TRUE))
})

test_that("every code of the market is a class of condition, with advice", {
  logged_in()
  codes <- list(
    forbidden = 403L, quota_exceeded = 403L, rate_limited = 429L, internal = 500L, busy = 503L, database_unavailable = 503L,
    commit_in_doubt = 503L, too_large = 413L, wrong_state = 409L
  )
  for (code in names(codes)) {
    with_market(list("GET /user/" = problem(code, codes[[code]], "A title", "a detail")), {
      expect_error(account(), class = paste0("remotist_", code))
      expect_snapshot(account(), error = TRUE)
    })
  }
})

test_that("the text of a problem cannot act on the terminal or on cli", {
  logged_in()
  with_market(list("GET /user/" = problem("busy", 503L, "{stop('ran')}", "\033[31mred {1 + 1}")), {
    expect_snapshot(account(), error = TRUE)
  })
})

test_that("the certificate file must exist", {
  logged_in()
  Sys.setenv(REMOTIST_CA_FILE = "/nowhere/ca.crt")
  on.exit(Sys.setenv(REMOTIST_CA_FILE = ""), add = TRUE)
  expect_snapshot(account(), error = TRUE)
})

test_that("transient refusals are retried, unless the wait is long", {
  reply <- function(status, ...) is_transient(httr2::response(status, headers = list(...)))
  for (status in c(408L, 429L, 502L, 503L, 504L)) expect_true(reply(status))
  for (status in c(200L, 400L, 401L, 404L, 409L, 500L)) expect_false(reply(status))
  expect_true(reply(503L, `Retry-After` = "1"))
  expect_false(reply(429L, `Retry-After` = "900"))
})

test_that("a response that is a path or a URL is not opened", {
  logged_in()
  file <- tempfile(fileext = ".json")
  writeLines('{"balance": 5, "code": "busy", "title": "read from a file"}', file)
  reply <- function(status, type) httr2::response(status, url = "http://market.test/user/", headers = list(`Content-Type` = type), body = charToRaw(file))
  for (type in c("application/json", "application/problem+json")) {
    for (status in c(200L, 500L)) with_market(list("GET /user/" = reply(status, type)), expect_error(account(), class = "remotist_unreachable"))
  }
  event <- httr2::response(200L, url = "http://market.test/", body = charToRaw(paste0("id: 1\ndata: ", file, "\n\n")))
  expect_error(read_event(event, NULL), class = "remotist_unreachable")
  for (body in c("id: 1\ndata: {\n\n", "data: {}\n\n", "\xff\n")) {
    expect_error(read_event(httr2::response(200L, url = "http://market.test/", body = charToRaw(body)), NULL), class = "remotist_unreachable")
  }
})
