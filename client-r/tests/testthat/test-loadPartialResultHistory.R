test_that("a history has values, times and sequence numbers", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  in_utc()
  records <- list(
    a_record(1, 1.5, superseded = TRUE), a_record(2, NULL), a_record(5, letters, changes = 12, thinned = TRUE), a_record(6, kind = "removed"),
    a_record(7, kind = "problem", words = "it is a connection"), a_record(8, sum), a_record(9, datasets::iris)
  )
  with_market(watch_routes(records), {
    history <- loadPartialResultHistory(job_id, "x")
    expect_snapshot(loadPartialResultHistory(job_id, "x", "past"))
  })
  expect_snapshot(history)
  expect_identical(history, past)
  expect_identical(history$value, list(1.5, NULL, letters, NULL, NULL, NULL, datasets::iris))
  expect_identical(history$sequence, c(1, 2, 5, 6, 7, 8, 9))
  expect_identical(history$time[[3]], time_of("2026-02-01T10:00:05.000Z"))
  expect_identical(history$kind, c("value", "value", "value", "removed", "problem", "left_out", "value"))
  expect_identical(history$changes[[3]], 12)
  with_market(watch_routes(records), trusted <- loadPartialResultHistory(job_id, "x", trust = TRUE))
  expect_identical(trusted$value[[6]], sum)
})

test_that("all pages are read, or one, or a range", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  in_utc()
  here <- market(watch_routes(lapply(1:450, function(i) a_record(i, i + 0.5, seconds = i %/% 10))))
  httr2::with_mocked_responses(here$mock, {
    all <- loadPartialResultHistory(job_id, "x")
    one <- loadPartialResultHistory(job_id, "x", page = 2)
    range <- loadPartialResultHistory(job_id, "x", from = 7, to = 9)
    loadPartialResultHistory(job_id, "x", from = time_of("2026-02-01T10:00:01.250Z"), to = 1e5, page = 1)
  })
  expect_identical(unlist(all$value), 1:450 + 0.5)
  expect_identical(one$sequence, as.double(201:400))
  expect_identical(range$sequence, c(7, 8, 9))
  expect_snapshot({
    one
    utils::head(one, 2)
    one[, c("sequence", "time")][1:2, ]
  })
  urls <- vapply(here$requests(), function(one) sub(".*history", "", one$url), "")
  expect_snapshot(writeLines(urls))
})

test_that("pages that the market ends early are continued", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  records <- lapply(1:450, function(i) a_record(i, i + 0.5, seconds = i %/% 10))
  with_market(watch_routes(records, fit = 30L), {
    all <- loadPartialResultHistory(job_id, "x")
    second <- loadPartialResultHistory(job_id, "x", page = 2)
    last <- loadPartialResultHistory(job_id, "x", page = 3)
  })
  expect_identical(all$sequence, as.double(1:450))
  expect_identical(second$sequence, as.double(201:400))
  expect_true(attr(second, "more"))
  expect_identical(last$sequence, as.double(401:450))
  expect_false(attr(last, "more"))
})

test_that("a history may be empty", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  with_market(watch_routes(list(), state = "running"), history <- loadPartialResultHistory(job_id, "x"))
  expect_identical(nrow(history), 0L)
  expect_identical(history$value, list())
  expect_snapshot(history)
})

test_that("invalid arguments are refused", {
  logged_in()
  expect_snapshot(error = TRUE, {
    loadPartialResultHistory(job_id)
    loadPartialResultHistory(job_id, "x", from = "a while ago")
    loadPartialResultHistory(job_id, "x", to = 1.5)
    loadPartialResultHistory(job_id, "x", to = as.POSIXct(NA))
    loadPartialResultHistory(job_id, "x", page = 0)
  })
})

test_that("a page that the market ends early is continued", {
  logged_in()
  records <- lapply(1:450, function(i) a_record(i, i))
  for (i in seq_along(records)) records[[i]]$at <- "2026-02-01T10:00:00.000Z"
  whole <- watch_routes(records)
  routes <- whole
  history <- paste0("GET /job/", job_id, "/partialResults/x/history")
  # Fifty records an answer, and the sequence of the next one.
  routes[[history]] <- function(req) {
    body <- jsonlite::fromJSON(rawToChar(whole[[history]](req)$body), simplifyVector = FALSE)
    if (length(body$history) > 50L) {
      body["next"] <- list(body$history[[51L]]$sequence)
      body$history <- body$history[1:50]
      body$more <- TRUE
    }
    json_reply(body)
  }
  with_market(routes, {
    all <- loadPartialResultHistory(job_id, "x")
    second <- loadPartialResultHistory(job_id, "x", page = 2)
    last <- loadPartialResultHistory(job_id, "x", page = 3)
  })
  expect_identical(all$sequence, as.numeric(1:450))
  expect_identical(second$sequence, as.numeric(201:400))
  expect_true(attr(second, "more"))
  expect_identical(last$sequence, as.numeric(401:450))
  expect_false(attr(last, "more"))
})

test_that("values of any class are described without their methods", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  odd <- "caf\xe9\033[2J"
  Encoding(odd) <- "bytes"
  values <- list(odd, I(c("\033[2J", "b")), I("\033[2J"), structure(1, class = "\033[2J"))
  records <- lapply(seq_along(values), function(i) a_record(i, values[[i]]))
  with_market(watch_routes(records), history <- loadPartialResultHistory(job_id, "x"))
  expect_identical(history$kind, rep("value", length(values)))
  said <- utils::capture.output(print(history))
  expect_false(any(grepl("\033", said, fixed = TRUE)))
  expect_match(said, "an object of class AsIs", all = FALSE)
})
