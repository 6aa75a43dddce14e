#' Watch a variable while the job runs
#'
#' Calls a function for each recorded change of a variable that the job watches
#' (`addJob(partialResultsVars = )`), and returns when the job has ended. Ctrl-C (or Esc) stops
#' watching, not the job: you can watch again later, also in another R session. The function can
#' stop watching with `stopWatching()`; its return value is ignored. While the market cannot be
#' reached, `watchVar()` tries again; a message reports it.
#'
#' The function is called once for each record, in order. If the variable changes faster than it is
#' recorded, a record stands for several changes; [loadPartialResultHistory()] returns their number.
#' If the machine is lost and another one runs part of the job again, records of that part that were
#' not delivered by then are skipped, and those of the new run follow. If the variable is removed, cannot
#' be recorded or is not plain data (see [loadPartialResult()]), a message is shown instead.
#'
#' @inheritParams viewJob
#' @param var The name of the variable as given to [addJob()], such as `"x"` or `"fit$loss"`.
#' @param f A function of two arguments: the value, and the time at which the variable changed (a
#'   [POSIXct][DateTimeClasses]).
#' @param history Whether to begin with the first record; else `f` is called first with the current
#'   value.
#' @param trust Whether to load any value without checks. See [loadJob()].
#' @returns The job, invisibly. A failed job does not raise an error here: [waitJob()] does.
#' @seealso [plotPartialResult()], which plots the values
#' @inherit loadPartialResult examples
#' @export
watchVar <- function(id, var, f, history = TRUE, trust = FALSE) {
  call <- environment()
  check_required(c("id", "var", "f"), call)
  id <- id_of(id, "id", "job", call)
  variable <- check_variable_name(var, "var", call)
  if (!is.function(f)) abort_argument("f", "must be a function of a value and a time", f, call = call)
  check_flag(history, "history", call)
  check_flag(trust, "trust", call)
  if (!trust) check_r_version(getRversion(), call, "watchVar(id, var, f, trust = TRUE)")
  reported <- character()
  on_record <- function(record, read) {
    if (is.null(read$missing)) {
      f(read$value, record$time)
    } else if (!read$reason %in% reported) {
      reported <<- c(reported, read$reason)
      inform_missing(variable, record, read)
    }
  }
  watch(id, variable, on_record, history, trust, call)
}

#' @rdname watchVar
#' @export
stopWatching <- function() {
  tryInvokeRestart("remotist_stop_watching")
  abort_remotist("not_watching", c(
    "No variable is being watched.",
    i = "Call {.fn stopWatching} only in the function that you give to {.fn watchVar}."
  ), call = environment())
}

# Calls `on_record` with each record and what was read of it, then `finally`, and reports why watching ended.
watch <- function(id, variable, on_record, history, trust, call, finally = function() NULL) {
  retry <- new_outage_retry()
  ending <- withRestarts(
    tryCatch(follow(id, variable, on_record, history, trust, retry, call), interrupt = function(e) "interrupted"),
    remotist_stop_watching = function() "stopped"
  )
  finally()
  name <- clean_text(variable)
  if (!identical(ending, "ended")) {
    cli::cli_inform(c(i = "Stopped watching {.var {name}} of job {.val {id}}. The job is not affected."))
    return(invisible(new_job(list(id = id))))
  }
  job <- retry(function() fetch_job(id, call))
  cli::cli_inform(c(i = "Job {.val {id}} has ended. Its state is {.val {job$state}}."))
  invisible(job)
}

# Returns "ended" when the job has. The market holds each request until there is a new record.
follow <- function(id, variable, on_record, history, trust, retry, call) {
  seen <- 0
  show <- function(record) {
    # A record that was already read with the pages before it.
    if (record$sequence <= seen) return(invisible())
    seen <<- record$sequence
    if (!record$superseded) on_record(record, retry(function() record_value(id, record, trust, call)))
  }
  repeat {
    response <- retry(function() {
      with_watched_name(id, variable, call, function(name) {
        variable <<- name
        send_request("GET", partial_path(id, name), query = list(after = integer_text(seen)), call = call)
      })
    })
    status <- httr2::resp_status(response)
    if (status == 204L) return("ended")
    if (status == 304L) next
    record <- new_record(parse_body(response, call), variable, call)
    if (record$sequence <= seen) abort_damaged(list(path = variable), "the market sent a record of it twice", call)
    if (record$sequence > seen + 1 && (history || seen > 0)) {
      each_record(id, variable, integer_text(seen + 1), integer_text(record$sequence - 1), show, call, retry)
    }
    show(record)
  }
}

inform_missing <- function(variable, record, read) {
  name <- clean_text(variable)
  when <- time_text(record$time)
  reason <- read$reason
  cli::cli_inform(c(
    "!" = "{.var {name}} has had no value since {when}: {reason}.",
    i = if (read$missing == "left_out") "The value comes from a machine that you do not know, so only plain data is loaded. If you trust it, set {.code trust = TRUE}."
  ))
}
