plain_text <- function(env = parent.frame()) {
  before <- options(cli.unicode = FALSE, cli.width = 60L, width = 60L)
  do.call(on.exit, list(bquote(options(.(before))), add = TRUE), envir = env)
}
scalars <- lapply(1:12, function(i) a_record(i, i^2))
vectors <- lapply(1:3, function(i) a_record(i, sin(seq(0, i * 2, length.out = 50))))

test_that("numbers are plotted as text", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  in_utc()
  plain_text()
  with_market(watch_routes(scalars), expect_snapshot(drawn <- plotPartialResult(job_id, "x", text = TRUE)))
  expect_identical(unlist(drawn$value), (1:12)^2)
  with_market(watch_routes(scalars[1]), expect_snapshot(plotPartialResult(job_id, "x", text = TRUE)))
  with_market(watch_routes(vectors), expect_snapshot(plotPartialResult(job_id, "x", text = TRUE)))
})

test_that("a live plot prints a line for each change where the terminal cannot redraw", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  in_utc()
  plain_text()
  with_market(watch_routes(scalars), expect_snapshot(plotPartialResult(job_id, "x", text = TRUE, live = TRUE)))
  with_market(watch_routes(vectors), expect_snapshot(plotPartialResult(job_id, "x", text = TRUE, live = TRUE)))
})

test_that("a live plot is redrawn where the terminal can, and ends with the last value", {
  in_utc()
  plain_text()
  local_mocked_bindings(is_ansi_tty = function(...) TRUE, .package = "cli")
  show <- new_text_display("x")
  out <- utils::capture.output({
    for (i in 1:50) show(.POSIXct(i), i)
    show(NULL)
    show(NULL)
  })
  expect_identical(sum(grepl("^\033\\[10A", out)), length(out) %/% 10L - 1L)
  expect_match(out[[length(out) - 9L]], "x = 50, 50 records")
})

test_that("numbers are plotted on a graphics device", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  on.exit({
    grDevices::dev.off()
    unlink(file)
  })
  for (records in list(scalars, scalars[1], vectors, list(a_record(1, c(NA, Inf)), a_record(2, NaN)), list(a_record(1, NA)), list(a_record(1, TRUE), a_record(2, 1:5)))) {
    with_market(watch_routes(records), {
      expect_no_error(plotPartialResult(job_id, "x", main = "title", xlab = "when"))
      expect_no_error(suppressMessages(plotPartialResult(job_id, "x", live = TRUE)))
    })
  }
})

test_that("of large values only the newest is downloaded", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  bytes <- serialize(as.double(1:10), NULL)
  large <- function(sequence) {
    record <- a_record(sequence, bytes)
    record$base64 <- NULL
    record$chunks <- list(sha256(bytes))
    record
  }
  routes <- watch_routes(lapply(1:5, large))
  routes[[paste0("GET /blob/", sha256(bytes))]] <- httr2::response(200L, body = bytes)
  here <- market(routes)
  httr2::with_mocked_responses(here$mock, utils::capture.output(drawn <- plotPartialResult(job_id, "x", text = TRUE)))
  expect_identical(drawn$value, list(as.double(1:10)))
  expect_identical(sum(grepl("/blob/", here$received())), 1L)
})

test_that("a variable that cannot be plotted raises an error", {
  logged_in()
  skip_if(getRversion() < "4.4.0")
  in_utc()
  plot_of <- function(routes, ...) with_market(routes, plotPartialResult(job_id, "x", text = TRUE, ...))
  expect_snapshot(error = TRUE, {
    plot_of(watch_routes(list(a_record(1, letters))))
    plot_of(watch_routes(list(a_record(1, datasets::iris))))
    plot_of(watch_routes(list(a_record(1, factor("a")))), live = TRUE)
    plot_of(watch_routes(list(a_record(1, sum))))
    plot_of(watch_routes(list(), state = "running"))
    plot_of(watch_routes(list(), watched = "y"))
    plotPartialResult(job_id, "x", text = NA)
    plotPartialResult(job_id, "x", live = TRUE, to = 3)
  })
})
