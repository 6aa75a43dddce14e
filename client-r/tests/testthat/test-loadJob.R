load_routes <- function(bytes, state = "completed") {
  routes <- list()
  routes[[paste0("GET /job/", job_id)]] <- json_reply(a_job(state = state))
  routes[[paste0("GET /job/", job_id, "/output")]] <- if (is.null(bytes)) file_page() else file_page(inline_file("result.rds", bytes))
  routes
}

test_that("plain variables are loaded, and omitted ones are listed", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  result <- list(x = 1:10, df = data.frame(a = 1), f = function() 1, .hidden = 1, T = FALSE, c = 3, iris = 4, `odd {name}\033[2J` = 5, model = y ~ x)
  where <- new.env()
  with_market(load_routes(serialize(result, NULL)), expect_snapshot(names <- loadJob(job_id, envir = where)))
  expect_identical(sort(names), sort(c("x", "df", "odd {name}\033[2J")))
  expect_identical(sort(ls(where, all.names = TRUE)), sort(names))
  expect_identical(where$x, 1:10)
})

test_that("a data.table is loaded without its pointer, and a message says so", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  skip_if_not_installed("data.table")
  table <- data.table::data.table(a = 3:1, b = letters[1:3], key = "a")
  where <- new.env()
  with_market(load_routes(serialize(list(rows = table, x = 1, many = list(table, table)), NULL)), expect_snapshot(names <- loadJob(job_id, envir = where)))
  expect_identical(names, c("rows", "x", "many"))
  expect_identical(class(where$rows), c("data.table", "data.frame"))
  # It works, and as one that came with its key.
  data.table::setDT(where$rows)
  data.table::set(where$rows, j = "c", value = 4:6)
  expect_equal(where$rows, data.table::data.table(a = 1:3, b = c("c", "b", "a"), c = 4:6, key = "a"), ignore_attr = TRUE)
  expect_identical(data.table::key(where$rows), "a")
})

test_that("an invalid name omits only its variable", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  result <- stats::setNames(list(1, 2, 3, 4), c("", strrep("a", r_name_bytes_max + 1L), strrep("b", r_name_bytes_max), "x"))
  for (trust in c(FALSE, TRUE)) {
    where <- new.env()
    messages <- testthat::capture_messages(with_market(load_routes(serialize(result, NULL)), names <- loadJob(job_id, envir = where, trust = trust)))
    expect_identical(names, names(result)[3:4])
    expect_identical(where$x, 4)
    expect_match(messages, "it has no name", all = FALSE)
    expect_match(messages, "its name is too long", all = FALSE)
    # Nor does a name fill the screen.
    expect_lt(max(nchar(messages)), 2000L)
  }
})

test_that("a hundred thousand variables are loaded or omitted, each under its name", {
  n <- 100000L
  values <- stats::setNames(rep(list(1L), n), sprintf("v%d", seq_len(n)))
  where <- new.env()
  expect_identical(assign_variables(values, where, FALSE, FALSE)$names, names(values))
  names(values) <- paste0(".", names(values))
  expect_identical(names(assign_variables(values, where, FALSE, FALSE)$omitted), names(values))
})

test_that("with trust everything is loaded", {
  logged_in()
  result <- list(x = 1, f = function() 1, .hidden = 1, T = FALSE)
  where <- new.env()
  with_market(load_routes(serialize(result, NULL)), expect_snapshot(loadJob(job_id, envir = where, trust = TRUE)))
  expect_identical(sort(ls(where, all.names = TRUE)), sort(names(result)))
})

test_that("an existing variable is replaced only with overwrite = TRUE", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  where <- new.env()
  where$x <- "mine"
  where$same <- 1:3
  makeActiveBinding("active", function(value) stop("ran"), where)
  routes <- load_routes(serialize(list(x = "theirs", same = 1:3, active = 1), NULL))
  with_market(routes, expect_snapshot(loadJob(job_id, envir = where)))
  expect_identical(where$x, "mine")
  with_market(routes, suppressMessages(loadJob(job_id, envir = where, overwrite = TRUE)))
  expect_identical(where$x, "theirs")
})

test_that("a locked environment is not changed", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  where <- new.env()
  lockEnvironment(where)
  with_market(load_routes(serialize(list(x = 1), NULL)), expect_snapshot(loadJob(job_id, envir = where)))
})

test_that("an old R refuses to read untrusted data", {
  expect_snapshot(check_r_version(numeric_version("4.3.3"), NULL), error = TRUE)
  expect_no_error(check_r_version(numeric_version("4.4.0"), NULL))
})

test_that("a result that is missing, damaged or not available yet is reported", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  where <- new.env()
  for (state in c("running", "failed", "cancelled")) {
    with_market(load_routes(NULL, state), expect_snapshot(loadJob(job_id, envir = where), error = TRUE))
  }
  with_market(load_routes(NULL), expect_snapshot(loadJob(job_id, envir = where), error = TRUE))
  with_market(load_routes(charToRaw("no stream")), {
    expect_snapshot(loadJob(job_id, envir = where), error = TRUE)
    expect_snapshot(loadJob(job_id, envir = where, trust = TRUE), error = TRUE)
  })
  expect_length(ls(where, all.names = TRUE), 0L)
})

test_that("invalid arguments are refused", {
  logged_in()
  expect_snapshot(error = TRUE, {
    loadJob(job_id, envir = list())
    loadJob(job_id, trust = "yes")
    loadJob(job_id, overwrite = NA)
  })
})
