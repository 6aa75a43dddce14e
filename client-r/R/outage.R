# Functions that wait for a job retry while the market cannot be reached: a running job does not depend on it.

# Whether an error means that the market cannot be reached or is overloaded, not that it refuses the request.
is_outage <- function(error) {
  if (is.null(error$status)) return(inherits(error, "remotist_unreachable") && !isTRUE(error$untrusted_certificate))
  isTRUE(error$retryable) || error$status %in% c(408L, 429L, 502L, 503L, 504L)
}

# A function that calls `request` until it succeeds and returns its value, or NULL after the time `ends`. It reports the beginning
# and the end of an outage once each.
new_outage_retry <- function(ends = Inf) {
  function(request) {
    reported <- FALSE
    tries <- 0
    repeat {
      result <- tryCatch(list(value = request()), remotist_error = function(error) if (is_outage(error)) error else stop(error))
      if (!inherits(result, "remotist_error")) break
      left <- ends - as.numeric(Sys.time())
      if (left <= 0) return(NULL)
      if (!reported) inform_outage(result)
      reported <- TRUE
      tries <- tries + 1
      Sys.sleep(min(left, 8, 0.5 * 2^(tries - 1)))
    }
    if (reported) cli::cli_inform(c(v = "The market can be reached again."))
    result$value
  }
}

inform_outage <- function(error) {
  reason <- clean_text(sub("\n.*", "", conditionMessage(error)))
  cli::cli_inform(c("!" = "{reason}", i = "The job is not affected. Trying again until the market can be reached; Ctrl-C stops waiting, not the job."))
}

# For requests that are made once.
without_retry <- function(request) request()
