# Errors: each has the classes remotist_<kind> and remotist_error; for a refusal by the market the kind is its code.

# Further arguments become fields of the condition.
abort_remotist <- function(kind, message, ..., call = NULL, .envir = parent.frame()) {
  fields <- list(...)
  if (is.null(fields$code)) fields$code <- kind
  fields$class <- c(paste0("remotist_", kind), "remotist_error")
  do.call(cli::cli_abort, c(list(message, call = call, .envir = .envir), fields))
}

# What the user can do about a refusal, beyond what the market's message says.
advice_for <- function(code) {
  switch(code,
    unauthenticated = "Your login has expired or was ended. Log in again with {.run remotist::login()}.",
    wrong_credentials = "Check the e-mail address and the password. To create an account, use {.run remotist::register()}.",
    insufficient_credits = "{.run remotist::account()} shows your balance. Set a lower {.arg price}, or lend a machine to earn credits: {.run remotist::startVolunteer()}.",
    quota_exceeded = "Delete jobs that you no longer need with {.run remotist::deleteJob()}. {.run remotist::account()} shows your storage.",
    email_taken = "Log in with {.run remotist::login()}, or register with another e-mail address.",
    not_found = "{.run remotist::listJobs()} and {.run remotist::listMachines()} show your jobs and machines.",
    rate_limited = "Wait before you try again.",
    busy = "The market is overloaded. Try again in a moment.",
    database_unavailable = "Nothing was changed. Try again in a moment.",
    commit_in_doubt = "The request may have been executed. Check with {.run remotist::listJobs()} before you try again.",
    internal = "This is a fault of the market. Report it, with the request id, to its operator.",
    NULL
  )
}

abort_problem <- function(response, call) {
  problem <- parse_text(response_text(response))
  status <- httr2::resp_status(response)
  if (!is.list(problem) || !is_string(problem$code)) return(abort_not_market(response, call))
  code <- gsub("[^a-z0-9_]", "_", problem$code)
  title <- sentence(if (is_string(problem$title)) problem$title else code)
  detail <- if (is_string(problem$detail)) sentence(problem$detail)
  advice <- advice_for(code)
  request_id <- if (is_string(problem$request_id)) clean_text(problem$request_id)
  message <- c(
    "{title}",
    if (!is.null(detail)) c(x = "{detail}"),
    if (!is.null(advice)) c(i = advice),
    if (identical(code, "internal") && !is.null(request_id)) c(i = "Request id: {request_id}")
  )
  abort_remotist(code, message,
    status = status, field = problem$field, retryable = isTRUE(problem$retryable), request_id = request_id, call = call
  )
}

# For a response that no market sends: from a proxy, the login page of a network, or another server.
abort_not_market <- function(response, call) {
  url <- sub("^(https?://[^/]*).*$", "\\1", httr2::resp_url(response))
  status <- httr2::resp_status(response)
  abort_remotist("unreachable", c(
    "The server at {.url {url}} is not a RemotIST market.",
    x = "It sent status {status} without a body that this package can read.",
    i = "Check the address. A proxy or a login page of your network may have sent the response."
  ), status = status, call = call)
}

abort_unreachable <- function(failure, url, call) {
  reason <- clean_text(conditionMessage(if (is.null(failure$parent)) failure else failure$parent))
  untrusted_certificate <- grepl("certificate|SSL|TLS", reason)
  advice <- if (untrusted_certificate) {
    "If the market's certificate was issued by a private authority, set the environment variable {.envvar REMOTIST_CA_FILE} to the file with that authority's certificate."
  } else {
    "Check your network and the address. Submitted jobs are not affected."
  }
  abort_remotist("unreachable", c("The market at {.url {url}} cannot be reached.", x = "{reason}", i = advice), untrusted_certificate = untrusted_certificate, call = call)
}
