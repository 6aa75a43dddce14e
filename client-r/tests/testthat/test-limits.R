test_that("limits are those of the market's headers", {
  script <- normalizePath(file.path("..", "..", "..", "script", "limits"), mustWork = FALSE)
  skip_if_not(file.exists(script), "outside of the repository")
  expect_identical(system2(script, "--check", stdout = TRUE, stderr = TRUE), character())
})
