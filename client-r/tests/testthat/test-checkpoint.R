test_that("outside of a job checkpoint does nothing", {
  expect_silent(value <- withVisible(checkpoint()))
  expect_identical(value, list(value = NULL, visible = FALSE))
})
