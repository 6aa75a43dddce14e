# Calls that wait for a job outlast a market that is away: the job does not need it while it runs.

# Whether an error says that the market is away or has too much to do, rather than that it refuses.
is_outage <- function(error) {
  if (is.null(error$status)) return(inherits(error, "remotist_unreachable") && !isTRUE(error$distrusted))
  isTRUE(error$retryable) || error$status %in% c(408L, 429L, 502L, 503L, 504L)
}

# A function that calls `use` until it gets through, or until `ends`, and then returns NULL. It tells once when the market is away
# and once when it is back.
new_persistence <- function(ends = Inf) {
  function(use) {
    told <- FALSE
    tries <- 0
    repeat {
      result <- tryCatch(list(value = use()), remotist_error = function(error) if (is_outage(error)) error else stop(error))
      if (!inherits(result, "remotist_error")) break
      left <- ends - as.numeric(Sys.time())
      if (left <= 0) return(NULL)
      if (!told) tell_outage(result)
      told <- TRUE
      tries <- tries + 1
      Sys.sleep(min(left, 8, 0.5 * 2^(tries - 1)))
    }
    if (told) cli::cli_inform(c(v = "The market is back."))
    result$value
  }
}

tell_outage <- function(error) {
  reason <- clean_text(sub("\n.*", "", conditionMessage(error)))
  cli::cli_inform(c("!" = "{reason}", i = "The job goes on without it. Asking again until it answers; Ctrl-C only stops waiting."))
}

# For calls that do not wait.
at_once <- function(use) use()
