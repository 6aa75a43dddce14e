# Conditions: every error of this package has the classes remotist_<kind> and remotist_error; for a refusal of the
# market the kind is its code.

# Further arguments are fields of the condition.
abort_remotist <- function(kind, message, ..., call = NULL, .envir = parent.frame()) {
  fields <- list(...)
  if (is.null(fields$code)) fields$code <- kind
  fields$class <- c(paste0("remotist_", kind), "remotist_error")
  do.call(cli::cli_abort, c(list(message, call = call, .envir = .envir), fields))
}

# What a refusal means for whoever sits at the prompt, beyond what the market says of it.
advice_for <- function(code) {
  switch(code,
    unauthenticated = "Your log-in has expired or was ended: {.run remotist::login()} again.",
    wrong_credentials = "Check e-mail and password, or {.run remotist::register()} first.",
    insufficient_credits = "{.run remotist::account()} shows your balance. Lower {.arg price}, or lend a machine to earn credits: {.run remotist::startVolunteer()}.",
    quota_exceeded = "Delete jobs that you no longer need: {.run remotist::deleteJob()}. {.run remotist::account()} shows your storage.",
    email_taken = "Use {.run remotist::login()}, or register with another e-mail.",
    not_found = "{.run remotist::listJobs()} and {.run remotist::listMachines()} show what is yours.",
    rate_limited = "Wait a while and try again.",
    busy = "The market has more to do than it takes on: try again in a moment.",
    database_unavailable = "Nothing was changed: try again in a moment.",
    commit_in_doubt = "It may have been done: look with {.run remotist::listJobs()} before you try again.",
    internal = "The fault is the market's. Tell whoever runs it the request id.",
    NULL
  )
}

abort_problem <- function(response, call) {
  problem <- parse_text(response_text(response))
  status <- httr2::resp_status(response)
  if (!is.list(problem) || !is_string(problem$code)) return(abort_stranger(response, call))
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

# An answer that no market gives: a proxy, a log-in page of a hotel, another server.
abort_stranger <- function(response, call) {
  url <- sub("^(https?://[^/]*).*$", "\\1", httr2::resp_url(response))
  status <- httr2::resp_status(response)
  abort_remotist("unreachable", c(
    "What answers at {.url {url}} is not a RemotIST market.",
    x = "It said {status} without a reason that this package understands.",
    i = "Check the address; a proxy or a log-in page of your network may be in between."
  ), status = status, call = call)
}

abort_unreachable <- function(failure, url, call) {
  reason <- clean_text(conditionMessage(if (is.null(failure$parent)) failure else failure$parent))
  distrusted <- grepl("certificate|SSL|TLS", reason)
  advice <- if (distrusted) {
    "For a market with a certificate of its own, name the authority's certificate in the environment variable {.envvar REMOTIST_CA_FILE}."
  } else {
    "Check your network and the address. Jobs that were submitted go on without you."
  }
  abort_remotist("unreachable", c("The market at {.url {url}} does not answer.", x = "{reason}", i = advice), distrusted = distrusted, call = call)
}
