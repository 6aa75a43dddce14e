#' Wait for a job to end
#'
#' Shows how far the job is and returns when it has ended. Ctrl-C (or Esc) only stops
#' waiting: the job goes on, and you can wait again later, in another session, too.
#' When the market does not answer for a while, a message says so, and waiting goes on until
#' it does or `timeout` has passed.
#'
#' @inheritParams viewJob
#' @param timeout How many seconds to wait at most.
#' @param log Whether to show what the job prints, too.
#' @returns The job, invisibly. When it did not complete, an error is raised instead:
#'   `remotist_job_failed` with the fields `job`, `code`, `failed_call` and
#'   `traceback`, `remotist_job_cancelled` or `remotist_job_expired`; and
#'   `remotist_timeout` when it had not ended in time.
#' @inherit loadJob examples
#' @export
waitJob <- function(id, timeout = Inf, log = FALSE) {
  call <- environment()
  check_given("id", call)
  id <- id_of(id, "id", "job", call)
  if (!is.numeric(timeout) || is.object(timeout) || length(timeout) != 1L || is.na(timeout) || timeout < 0) {
    abort_argument("timeout", "must be a number of seconds, 0 or more", timeout, call = call)
  }
  check_flag(log, "log", call)
  seen <- new.env(parent = emptyenv())
  seen$job <- new_job(list(id = id))
  job <- tryCatch(watch_until_ended(id, timeout, log, seen, call), interrupt = function(e) NULL)
  if (is.null(job)) {
    cli::cli_inform(c(i = "You no longer wait; job {.val {id}} goes on. Wait again with {.code waitJob(\"{id}\")}."))
    return(invisible(seen$job))
  }
  if (!has_ended(job)) abort_timeout(job, timeout, call)
  raise_ending(job, call)
  invisible(job)
}

# `seen` keeps the job as it was last seen, for who stops waiting.
watch_until_ended <- function(id, timeout, log, seen, call) {
  ends <- as.numeric(Sys.time()) + timeout
  persist <- new_persistence(ends)
  show <- new_display()
  lines_shown <- 0L
  version <- NULL
  job <- NULL
  repeat {
    event <- persist(function() if (log) look(id, call) else next_event(id, version, ends, call))
    if (!is.null(event$job)) {
      job <- seen$job <- event$job
      version <- event$version
      show(job)
    }
    if (log && !is.null(job)) lines_shown <- max(lines_shown, persist(function() show_log(id, lines_shown, call)))
    if (!is.null(job) && has_ended(job) || as.numeric(Sys.time()) >= ends) {
      show(NULL)
      return(if (is.null(job)) look(id, call)$job else job)
    }
    if (log) Sys.sleep(0.5)
  }
}

look <- function(id, call) list(job = new_job(answer(ask("GET", paste0("/job/", id), call = call), call)))

# The job's next version, as soon as there is one; nothing when none came within the time that the market holds a request.
next_event <- function(id, version, ends, call) {
  headers <- if (is.null(version)) list() else list(`Last-Event-ID` = version)
  # A request that is held longer than the user will wait is given up here, and not repeated.
  left <- max(1, ends - as.numeric(Sys.time()))
  response <- ask("GET", paste0("/job/", id, "/events"),
    headers = headers, timeout = min(60, left), patience = if (left > 60) 4L else 1L, call = call
  )
  if (httr2::resp_status(response) == 204L) return(look(id, call))
  read_event(response, call)
}

# One server-sent event: its id and the job in its data; empty when it is only a comment.
read_event <- function(response, call) {
  text <- response_text(response)
  if (is.null(text) || !validUTF8(text)) abort_stranger(response, call)
  Encoding(text) <- "UTF-8"
  lines <- strsplit(text, "\r?\n")[[1L]]
  field <- function(name) sub(paste0("^", name, ": ?"), "", lines[startsWith(lines, paste0(name, ":"))])
  data <- field("data")
  if (!length(data)) return(list())
  told <- parse_text(paste(data, collapse = "\n"))
  version <- field("id")
  if (!is.list(told) || !length(version)) abort_stranger(response, call)
  list(version = version[[1L]], job = new_job(told))
}

# A bar where the terminal can redraw a line, else a line for each change. Called with NULL at the end.
new_display <- function() {
  moves <- interactive() && cli::is_dynamic_tty()
  before <- ""
  bar <- NULL
  state <- ""
  words <- ""
  here <- environment()
  function(job) {
    if (is.null(job)) {
      if (!is.null(bar)) cli::cli_progress_done(id = bar, .envir = here)
      return(invisible())
    }
    state <<- job$state
    progress <- job_progress_text(job)
    words <<- if (is.na(job$progress_message)) "" else job$progress_message
    line <- if (nzchar(progress) && identical(job$state, "running")) paste0(state, ", ", progress) else state
    if (moves) {
      if (is.null(bar)) {
        bar <<- cli::cli_progress_bar(total = 100, format = "{state} {cli::pb_bar} {cli::pb_percent} {words}", clear = TRUE, .envir = here)
      }
      cli::cli_progress_update(set = if (is.na(job$progress)) 0 else 100 * job$progress, id = bar, force = TRUE, .envir = here)
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
    "Job {.val {id}} has not ended within {timeout} second{?s}.",
    x = "It is {job$state}.",
    i = "It goes on. Wait again with {.code waitJob(\"{id}\")}, or end it with {.code cancelJob(\"{id}\")}."
  ), job = id, state = job$state, call = call)
}

raise_ending <- function(job, call) {
  id <- job$id
  switch(job$state,
    failed = raise_failure(job, call),
    cancelled = abort_remotist("job_cancelled", c("Job {.val {id}} was cancelled."), job = id, call = call),
    expired = abort_remotist("job_expired", c(
      "Job {.val {id}} has expired: its deadline passed before it was done.",
      i = "Send it again with a later {.arg deadline}, or a higher {.arg price}, which more machines take."
    ), job = id, call = call)
  )
}

raise_failure <- function(job, call) {
  id <- job$id
  # The failure is told even when its details cannot be had.
  error <- tryCatch(read_error(job, FALSE, call), remotist_error = function(e) {
    list(code = job$failure_code, message = job$failure_detail, call = NA_character_, traceback = character())
  })
  message <- if (is.na(error$message)) "" else shortened(error$message)
  code <- error$code
  advice <- failure_advice(code)
  abort_remotist("job_failed", c(
    if (identical(code, "r_error")) "Job {.val {id}} stopped with an error." else "Job {.val {id}} failed: {.val {code}}.",
    if (nzchar(message)) c(x = "{message}"),
    if (!is.na(error$call)) c(" " = "in {.code {shortened(error$call)}}"),
    if (!is.null(advice)) c(i = advice),
    i = "{.code jobError(\"{id}\")} has the traceback, {.code jobLog(\"{id}\")} what it printed."
  ), job = id, code = code, failed_call = error$call, traceback = error$traceback, call = call)
}

# cli takes minutes to wrap a megabyte.
message_chars_most <- 10000L

shortened <- function(text) {
  if (nchar(text) <= message_chars_most) text else paste0(substr(text, 1L, message_chars_most), "... (cut here; jobError() has all of it)")
}

failure_advice <- function(code) {
  switch(code,
    price_used_up = "It took more CPU time than its price pays for: send it again with a higher {.arg price}.",
    limit_ram = "Send it again with more {.arg ram}.",
    limit_disc = "Send it again with more {.arg disc}.",
    limit_inodes = "It made too many files.",
    quota_exceeded = "Its result does not fit your storage: delete jobs with {.fn deleteJob}, or return less.",
    unreportable = "What it left or said cannot be stored: look at the names of its files and at its messages.",
    invalid_files = "Send it again with files that can stand in one folder.",
    handed_back_too_often = "Machine after machine could not run it: send it again, with fewer or other files.",
    lost_too_often = "Five machines were lost while they ran it: send it again, or in smaller parts.",
    killed = "R itself crashed in it.",
    NULL
  )
}
