routes_of <- function(document, ...) {
  routes <- list()
  routes[[paste0("GET /job/", job_id)]] <- json_reply(a_job(state = "failed", failure_code = "r_error", failure_detail = "as the agent says"))
  text <- as.character(jsonlite::toJSON(document, auto_unbox = TRUE))
  routes[[paste0("GET /job/", job_id, "/error")]] <- file_page(list(path = "error.json", size = nchar(text, "bytes"), text = text), ...)
  routes
}

test_that("an error has message, call and traceback; its variables only with trust", {
  logged_in()
  state <- serialize(list(frame = list(n = 3), globals = list(f = function(n) n)), NULL)
  routes <- routes_of(list(message = "no 3\nsecond line", call = "f(y)", traceback = list("g(n)", "f(y)")), inline_file("error.rds", state))
  with_market(routes, {
    error <- jobError(job_id)
    trusted <- jobError(job_id, trust = TRUE)
  })
  expect_identical(error$traceback, c("g(n)", "f(y)"))
  expect_null(error$frame)
  expect_identical(trusted$frame, list(n = 3))
  expect_true(is.function(trusted$globals$f))
  expect_snapshot(error)
})

test_that("an invalid error document is ignored", {
  logged_in()
  with_market(routes_of(list(message = list(1), call = 5, traceback = "x")), error <- jobError(job_id))
  expect_identical(error$message, "as the agent says")
  expect_identical(error$traceback, character())
})

test_that("one half of a surrogate pair in an error is shown as its bytes", {
  logged_in()
  text <- '{"message": "one\\ntwo \\udde0", "traceback": ["\\udde1"]}'
  routes <- routes_of(list())
  routes[[paste0("GET /job/", job_id, "/error")]] <- file_page(list(path = "error.json", size = nchar(text, "bytes"), text = text))
  expect_no_warning(with_market(routes, error <- jobError(job_id)))
  expect_identical(error$message, "one\ntwo <ed><b7><a0>")
  expect_identical(error$traceback, "<ed><b7><a1>")
})

test_that("a document that is a path or a URL is not opened, and only objects are used", {
  logged_in()
  secret <- tempfile(fileext = ".json")
  writeLines('{"message": "read from a file", "call": "read()"}', secret)
  server <- function(text) {
    routes <- routes_of(list())
    routes[[paste0("GET /job/", job_id, "/error")]] <- file_page(list(path = "error.json", size = nchar(text, "bytes"), text = text))
    with_market(routes, jobError(job_id))
  }
  deep <- strrep("[", 100000)
  for (text in c(secret, paste0("file://", secret), "http://127.0.0.1:1/x", "5", "\"text\"", "null", "[1, 2]", "{\"messages\": \"partial\"}", deep, "")) {
    error <- server(text)
    expect_identical(error[c("message", "call", "traceback")], list(message = "as the agent says", call = NA_character_, traceback = character()))
  }
})

test_that("a document that is too large is not read, and a long traceback is truncated", {
  logged_in()
  routes <- routes_of(list())
  routes[[paste0("GET /job/", job_id, "/error")]] <- file_page(list(path = "error.json", size = error_bytes_max + 1, chunks = list(strrep("0", 64))))
  with_market(routes, expect_identical(jobError(job_id)$message, "as the agent says"))
  lines <- as.list(paste0("f", seq_len(traceback_lines_max + 1L)))
  with_market(routes_of(list(message = "m", traceback = lines)), expect_length(jobError(job_id)$traceback, traceback_lines_max))
  with_market(routes_of(list(message = "m", traceback = lines[-1L])), expect_length(jobError(job_id)$traceback, traceback_lines_max))
})

test_that("a job that has not failed has no error", {
  logged_in()
  routes <- list()
  routes[[paste0("GET /job/", job_id)]] <- json_reply(a_job(state = "completed"))
  with_market(routes, expect_snapshot(expect_null(jobError(job_id))))
})
