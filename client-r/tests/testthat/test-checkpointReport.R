script_of <- function(...) {
  file <- file.path(new_folder(), "script.R")
  writeLines(c(...), file)
  file
}
new_folder <- function() {
  folder <- tempfile("report-")
  dir.create(folder)
  folder
}

test_that("a report says by line where a checkpoint is possible, and why it is not elsewhere", {
  report <- checkpointReport(script_of(
    "step <- function(x) {",
    "  for (k in 1:1000) x <- x + rnorm(1)",
    "  x",
    "}",
    "walk <- numeric(100)",
    "for (i in 2:100) walk[i] <- step(walk[i - 1])",
    "best <- optim(c(1, 1), function(p) { for (k in 1:10) p <- p + k; sum(p^2) })",
    "pdf('walk.pdf'); plot(walk)",
    "sizes <- sapply(1:10, function(n) length(walk[seq_len(n)]))"
  ))
  expect_snapshot(report)
  expect_s3_class(report, "data.frame")
  expect_identical(report$can[report$what == "for loop"], c(TRUE, TRUE, FALSE))
  expect_identical(report$line[report$what == "for loop"], c(2L, 6L, 7L))
  expect_match(report$why[report$what == "optim()"], "calls back")
})

test_that("a script of plain expressions allows a checkpoint between them", {
  expect_snapshot(checkpointReport(script_of("x <- 1", "y <- x + 1")))
})

test_that("a file that is not a script is refused", {
  expect_snapshot(error = TRUE, {
    checkpointReport()
    checkpointReport(7)
    checkpointReport("no-such-file.R")
  })
  expect_error(checkpointReport(script_of("x <- (1")), class = "remotist_invalid_argument")
})
