# Runs the tests of the R package that script/build installed, and ends with "testthat: N passed, N failed".
# Snapshots are compared only when this is set: on machines that are not the authors' they may differ.
Sys.setenv(NOT_CRAN = "true")
library(remotist, lib.loc = "build/r-lib")
results <- as.data.frame(testthat::test_dir(
  "client-r/tests/testthat",
  package = "remotist", load_package = "installed",
  reporter = testthat::CheckReporter$new(), stop_on_failure = FALSE
))
failed <- results$failed > 0 | results$error
skipped <- results$skipped & !failed
cat(sprintf("testthat: %d passed, %d failed\n", sum(!failed & !skipped), sum(failed)))
