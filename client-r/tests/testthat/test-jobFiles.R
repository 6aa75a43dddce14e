take_all <- function(file, routes = list()) {
  logged_in()
  with_market(routes, file_bytes(job_id, file, 2^20 * 10, NULL))
}

test_that("a file is read from text, base64 or chunks", {
  expect_identical(take_all(list(path = "a", size = 2, text = "\u00e9")), charToRaw("\u00e9"))
  expect_identical(take_all(inline_file("a", as.raw(0:255))), as.raw(0:255))
  bytes <- charToRaw("abc")
  routes <- list()
  routes[[paste0("GET /blob/", sha256(bytes))]] <- httr2::response(200L, body = bytes)
  expect_identical(take_all(list(path = "a", size = 6, chunks = list(sha256(bytes), sha256(bytes))), routes), rep(bytes, 2L))
  expect_identical(take_all(list(path = "a", size = 0, chunks = list())), raw())
})

test_that("a damaged file is refused", {
  name <- sha256(charToRaw("abc"))
  routes <- list()
  routes[[paste0("GET /blob/", name)]] <- httr2::response(200L, body = charToRaw("abd"))
  expect_snapshot(error = TRUE, {
    take_all(list(path = "a", size = 3, chunks = list(name)), routes)
    take_all(list(path = "a", size = 3, chunks = list("../../etc")))
    take_all(list(path = "a", size = 3, text = "abcd"))
    take_all(list(path = "a", size = 5, text = "abcd"))
    take_all(list(path = "a", size = 2e9, text = "abcd"))
  })
})

test_that("all pages are read", {
  logged_in()
  page <- function(req) {
    number <- as.integer(sub(".*[?&]page=([0-9]+).*", "\\1", req$url))
    json_reply(list(files = list(list(path = paste0("f", number), size = 0)), page = number, per_page = 200, more = number < 3))
  }
  routes <- list()
  routes[[paste0("GET /job/", job_id, "/files")]] <- page
  with_market(routes, files <- list_files(job_id, "files", NULL))
  expect_identical(vapply(files, function(file) file$path, ""), c("f1", "f2", "f3"))
})

test_that("a page that the market ends early is continued with the path that it names", {
  logged_in()
  pages <- list(
    list(files = list(list(path = "a", size = 0)), page = 1, per_page = 200, more = TRUE, `next` = "b c&d"),
    list(files = list(list(path = "b c&d", size = 0)), page = 1, per_page = 200, more = TRUE, `next` = NULL),
    list(files = list(list(path = "e", size = 0)), page = 2, per_page = 200, more = FALSE, `next` = NULL)
  )
  asked <- character()
  routes <- list()
  routes[[paste0("GET /job/", job_id, "/files")]] <- function(req) {
    asked <<- c(asked, sub("^[^?]*[?]", "", req$url))
    json_reply(pages[[length(asked)]])
  }
  with_market(routes, files <- list_files(job_id, "files", NULL))
  expect_identical(vapply(files, function(file) file$path, ""), c("a", "b c&d", "e"))
  expect_identical(asked, c("page=1&per_page=200", "page=1&per_page=200&from=b%20c%26d", "page=2&per_page=200&from=b%20c%26d"))
})

test_that("a file has a path and a number of bytes", {
  expect_true(is_file(list(path = "a", size = 0)))
  for (size in list("5", "many", -1, NULL, list(5), TRUE)) expect_false(is_file(list(path = "a", size = size)))
})
