#' Wait for a job to end
#'
#' Shows the progress of a job and returns when it has ended. Ctrl-C (or Esc) stops waiting, not the
#' job: you can wait again later, also in another R session. While the market cannot be reached,
#' `waitJob()` tries again until `timeout` has passed; a message reports it.
#'
#' @inheritParams viewJob
#' @param timeout The maximum time to wait, in seconds.
#' @param log Whether to show the log of the job, too.
#' @returns The job, invisibly. If the job was not completed, an error is raised:
#'   `remotist_job_failed` with the fields `job`, `code`, `failed_call` and `traceback`,
#'   `remotist_job_cancelled` or `remotist_job_expired`; `remotist_timeout` if it did not end in time.
#' @inherit loadJob examples
#' @export
waitJob <- function(id, timeout = Inf, log = FALSE) {
  call <- environment()
  check_required("id", call)
  id <- id_of(id, "id", "job", call)
  if (!is.numeric(timeout) || is.object(timeout) || length(timeout) != 1L || is.na(timeout) || timeout < 0) {
    abort_argument("timeout", "must be a number of seconds, 0 or more", timeout, call = call)
  }
  check_flag(log, "log", call)
  seen <- new.env(parent = emptyenv())
  seen$job <- new_job(list(id = id))
  job <- tryCatch(poll_until_ended(id, timeout, log, seen, call), interrupt = function(e) NULL)
  if (is.null(job)) {
    cli::cli_inform(c(i = "Stopped waiting; job {.val {id}} continues. Wait again with {.code waitJob(\"{id}\")}."))
    return(invisible(seen$job))
  }
  if (!has_ended(job)) abort_timeout(job, timeout, call)
  raise_job_end(job, call)
  invisible(job)
}

# `seen$job` is the last known state of the job, which an interrupted waitJob() returns.
poll_until_ended <- function(id, timeout, log, seen, call) {
  ends <- as.numeric(Sys.time()) + timeout
  retry <- new_outage_retry(ends)
  show <- new_display()
  lines_shown <- 0L
  version <- NULL
  job <- NULL
  repeat {
    event <- retry(function() if (log) list(job = fetch_job(id, call)) else next_event(id, version, ends, call))
    if (!is.null(event$job)) {
      job <- seen$job <- event$job
      version <- event$version
      show(job)
    }
    if (log && !is.null(job)) lines_shown <- max(lines_shown, retry(function() show_log(id, lines_shown, call)))
    if (!is.null(job) && has_ended(job) || as.numeric(Sys.time()) >= ends) {
      show(NULL)
      return(if (is.null(job)) fetch_job(id, call) else job)
    }
    if (log) Sys.sleep(0.5)
  }
}

# The next version of the job, as soon as there is one; an empty list when there is none within the time that the market holds a
# request.
next_event <- function(id, version, ends, call) {
  headers <- if (is.null(version)) list() else list(`Last-Event-ID` = version)
  # A request that the market holds longer than the user's timeout is ended here, and not repeated.
  seconds_left <- max(1, ends - as.numeric(Sys.time()))
  response <- send_request("GET", paste0("/job/", id, "/events"),
    headers = headers, timeout = min(60, seconds_left), max_tries = if (seconds_left > 60) 4L else 1L, call = call
  )
  if (httr2::resp_status(response) == 204L) return(list(job = fetch_job(id, call)))
  read_event(response, call)
}

# A server-sent event: its id and the job in its data; an empty list for a comment.
read_event <- function(response, call) {
  text <- response_text(response)
  if (is.null(text) || !validUTF8(text)) abort_not_market(response, call)
  Encoding(text) <- "UTF-8"
  lines <- strsplit(text, "\r?\n")[[1L]]
  field <- function(name) sub(paste0("^", name, ": ?"), "", lines[startsWith(lines, paste0(name, ":"))])
  data <- field("data")
  if (!length(data)) return(list())
  body <- parse_text(paste(data, collapse = "\n"))
  version <- field("id")
  if (!is.list(body) || !length(version)) abort_not_market(response, call)
  list(version = version[[1L]], job = new_job(body))
}

# A function that shows the state of a job: as a progress bar where the terminal can redraw a line, else as a line for each change.
# It is called with NULL at the end.
new_display <- function() {
  is_dynamic <- interactive() && cli::is_dynamic_tty()
  before <- ""
  bar <- NULL
  state <- ""
  text <- ""
  bar_frame <- environment()
  function(job) {
    if (is.null(job)) {
      if (!is.null(bar)) cli::cli_progress_done(id = bar, .envir = bar_frame)
      return(invisible())
    }
    state <<- job$state
    progress <- job_progress_text(job)
    text <<- if (is.na(job$progress_message)) "" else job$progress_message
    line <- if (nzchar(progress) && identical(job$state, "running")) paste0(state, ", ", progress) else state
    if (is_dynamic) {
      if (is.null(bar)) {
        bar <<- cli::cli_progress_bar(total = 100, format = "{state} {cli::pb_bar} {cli::pb_percent} {text}", clear = TRUE, .envir = bar_frame)
      }
      cli::cli_progress_update(set = if (is.na(job$progress)) 0 else 100 * job$progress, id = bar, force = TRUE, .envir = bar_frame)
    } else if (line != before) {
      cli::cli_inform(c(">" = "{line}"))
    }
    before <<- line
  }
}

show_log <- function(id, shown, call) {
  lines <- log_lines(id, call)
  if (length(lines) > shown) cli::cli_verbatim(paste0("  ", clean_text(lines[(shown + 1L):length(lines)])))
  length(lines)
}

abort_timeout <- function(job, timeout, call) {
  id <- job$id
  abort_remotist("timeout", c(
    "Job {.val {id}} did not end within {timeout} second{?s}.",
    x = "Its state is {.val {job$state}}.",
    i = "The job continues. Wait again with {.code waitJob(\"{id}\")}, or end it with {.code cancelJob(\"{id}\")}."
  ), job = id, state = job$state, call = call)
}

# Raises the error that outcome_conditions (failures.R) has for the state of a job that has ended, unless it was completed.
raise_job_end <- function(job, call) {
  state <- job$state
  if (identical(state, "completed")) return(invisible())
  if (identical(state, "failed")) raise_failure(job, call)
  id <- job$id
  cause <- outcome_causes[[state]]
  advice <- advice_of(outcome_advices, state)
  abort_remotist(outcome_conditions[[state]], c(
    "Job {.val {id}} ended as {.val {state}}: {cause}.",
    if (!is.null(advice)) c(i = advice)
  ), job = id, call = call)
}

raise_failure <- function(job, call) {
  id <- job$id
  # The failure is reported even when its details cannot be downloaded.
  error <- tryCatch(read_error(job, FALSE, call), remotist_error = function(e) {
    list(code = job$failure_code, message = job$failure_detail, call = NA_character_, traceback = character())
  })
  message <- if (is.na(error$message)) "" else truncate_text(error$message)
  code <- error$code
  advice <- advice_of(failure_advices, code)
  abort_remotist(outcome_conditions[["failed"]], c(
    if (identical(code, "r_error")) "Job {.val {id}} stopped with an error." else "Job {.val {id}} failed: {.val {code}}.",
    if (nzchar(message)) c(x = "{message}"),
    if (!is.na(error$call)) c(" " = "in {.code {truncate_text(error$call)}}"),
    if (!is.null(advice)) c(i = advice),
    i = "{.code jobError(\"{id}\")} shows the traceback, {.code jobLog(\"{id}\")} the log."
  ), job = id, code = code, failed_call = error$call, traceback = error$traceback, call = call)
}

# cli needs minutes to wrap a megabyte.
message_chars_max <- 10000L

truncate_text <- function(text) {
  if (nchar(text) <= message_chars_max) text else paste0(substr(text, 1L, message_chars_max), "... (truncated; jobError() returns the whole message)")
}

# What the user can do about a failure code or an outcome, for cli; NULL where there is nothing, and for one of a newer market.
advice_of <- function(advices, name) {
  advice <- advices[name]
  if (is.na(advice)) return(NULL)
  gsub("`([^`]*)`", "{.code \\1}", unname(advice))
}
