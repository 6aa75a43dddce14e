# Runs session.R as if it were typed, then shows what the lenders earned. Called by script/demo with the stack's state folder.

state <- commandArgs(TRUE)[[1L]]
folder <- "script/lib/demo/job"
stack_id <- readLines(file.path(state, "stack_id"), warn = FALSE)
email <- sprintf("demo-%s@example.org", paste(sprintf("%02x", sample(0:255, 4)), collapse = ""))
password <- paste(sample(c(letters, 0:9), 24, TRUE), collapse = "")

lenders <- c("volunteer1", "volunteer2")
balances <- function() {
  suppressMessages(vapply(lenders, function(name) {
    remotist::login(sprintf("%s-%s@example.org", name, stack_id), readLines(file.path(state, "secret", name), warn = FALSE))
    balance <- remotist::account()$balance
    remotist::logout()
    balance
  }, 0))
}

options(width = 100, warn = 1)
before <- balances()
source("script/lib/demo/session.R", echo = TRUE, spaced = FALSE, max.deparse.length = Inf, keep.source = TRUE)
spent <- 100 - account()$balance
records <- nrow(loadPartialResultHistory(job, "estimate"))
suppressMessages(logout())
after <- balances()
cat("\nWho lent a machine, at one credit for an hour of a core:\n")
cat(sprintf("  %s  %.6f credits, %+.6f\n", lenders, after, after - before), sep = "")
stopifnot(spent > 0, abs(sum(after - before) - spent) < 1e-5, is.numeric(interval), records > 1)
