test_that("outside of a job progress is a message", {
  expect_snapshot({
    progress(0.25, "chain 1 of 4")
    progress(1)
  })
  expect_snapshot(error = TRUE, {
    progress(2)
    progress("half")
  })
})
