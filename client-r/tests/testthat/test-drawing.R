test_that("plots have the heights of their numbers", {
  before <- options(cli.unicode = TRUE)
  on.exit(options(before))
  expect_identical(heights_of(c(0, 0.5, 1, NA, Inf), 8), c(1, 4, 8, NA, NA))
  expect_identical(heights_of(c(3, 3), 8), c(4, 4))
  expect_identical(heights_of(c(-1e308, 1e308), 8), c(1, 8))
  expect_identical(heights_of(NA_real_, 8), NA_real_)
  expect_identical(sparkline(c(1:8, NA)), "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588 ")
  expect_snapshot(writeLines(area_lines(cumsum(1:30), 4L)))
  options(cli.unicode = FALSE)
  expect_snapshot({
    writeLines(sparkline(c(1, 4, 9, 16, 25)))
    writeLines(area_lines(c(sqrt(1:40), NaN, 3), 4L))
    writeLines(area_lines(c(NA, NaN), 4L))
  })
})

test_that("numbers are resampled over time as steps", {
  times <- .POSIXct(c(0, 1, 10))
  expect_identical(resample_over_time(c(1, 2, 3), times, 6L), c(1, 2, 2, 2, 2, 3))
  expect_identical(resample_over_time(c(1, 2), .POSIXct(c(5, 5)), 3L), c(2, 2, 2))
  expect_identical(sample_evenly(1:3, 5L), 1:3)
  expect_identical(sample_evenly(1:100, 2L), c(1L, 100L))
})
