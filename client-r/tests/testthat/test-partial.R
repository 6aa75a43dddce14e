test_that("a time from the market is sent back unchanged", {
  for (text in c("2026-02-01T10:00:00.001Z", "2026-02-01T10:00:59.999Z", "2026-12-31T23:59:59.123Z", "1999-01-01T00:00:00.000Z")) {
    expect_identical(time_parameter(time_of(text)), sub("Z$", "000Z", text))
  }
  expect_identical(time_parameter(.POSIXct(0.9999999)), "1970-01-01T00:00:01.000000Z")
})

test_that("names of variables are URL-encoded", {
  expect_identical(partial_path("j", "fit$loss"), "/job/j/partialResults/fit%24loss")
  expect_identical(partial_path("j", "x[[\"a/b\"]] every 5"), "/job/j/partialResults/x%5B%5B%22a%2Fb%22%5D%5D%20every%205")
  expect_identical(partial_path("j", "gr\u00f6\u00dfe%24"), "/job/j/partialResults/gr%C3%B6%C3%9Fe%2524")
})

test_that("the rule of a name may be omitted", {
  watched <- c("x", "loss every 5", "a by 0.1", "a by 0.2")
  expect_identical(find_watched_name("x", watched), "x")
  expect_identical(find_watched_name("loss", watched), "loss every 5")
  expect_identical(find_watched_name("loss every 5", watched), "loss every 5")
  expect_null(find_watched_name("a", watched))
  expect_null(find_watched_name("y", watched))
})

test_that("records from the market are checked", {
  expect_snapshot(error = TRUE, {
    new_record(list(), "x", NULL)
    new_record("no record", "x\033[2J", NULL)
  })
  logged_in()
  name <- sha256(charToRaw("abc"))
  record <- new_record(list(sequence = 1, kind = "value", at = "2026-02-01T10:00:00.000Z", size = 3, chunks = list(name)), "x", NULL)
  routes <- list()
  routes[[paste0("GET /blob/", name)]] <- httr2::response(200L, body = charToRaw("abd"))
  with_market(routes, expect_snapshot(record_value(job_id, record, FALSE, NULL), error = TRUE))
})
