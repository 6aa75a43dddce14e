#' Watch a variable while the job runs
#'
#' Calls a function of yours for each change of a variable that the job watches
#' (`addJob(partialResultsVars = )`), as it comes, and returns when the job has ended. Ctrl-C (or
#' Esc) only stops watching: the job goes on, and you can watch again later, in another session, too.
#' When the market does not answer for a while, a message says so, and watching goes on when it does.
#' The function can stop it likewise, with `stopWatching()`; what it returns does not matter.
#'
#' Each change is seen once, in order. Where the variable changes faster than is recorded, the
#' newest value stands for those before it; [loadPartialResultHistory()] tells for how many. When
#' the machine is lost and the job begins anew, so does the variable: what was lost and not
#' seen by then is passed over. When the variable is removed, cannot be shown or is no plain data (see
#' [loadPartialResult()]), a message says so instead.
#'
#' @inheritParams viewJob
#' @param var The variable's name, as the job has it, such as `"x"` or `"fit$loss"`.
#' @param f A function of the value and the time (a [POSIXct][DateTimeClasses]) at which it came to be.
#' @param history Whether to begin with the values that the variable has had already; else with
#'   the one that it has now.
#' @param trust Whether to give values as they are, whatever they are. See [loadJob()].
#' @returns The job, invisibly. That the job failed raises no error here: [waitJob()] does.
#' @seealso [plotPartialResult()], which draws it
#' @inherit loadPartialResult examples
#' @export
watchVar <- function(id, var, f, history = TRUE, trust = FALSE) {
  call <- environment()
  check_given(c("id", "var", "f"), call)
  id <- id_of(id, "id", "job", call)
  variable <- check_variable(var, "var", call)
  if (!is.function(f)) abort_argument("f", "must be a function of a value and a time", f, call = call)
  check_flag(history, "history", call)
  check_flag(trust, "trust", call)
  if (!trust) check_reader(getRversion(), call, "watchVar(id, var, f, trust = TRUE)")
  told <- character()
  give <- function(record, read) {
    if (is.null(read$missing)) {
      f(read$value, record$time)
    } else if (!read$words %in% told) {
      told <<- c(told, read$words)
      tell_missing(variable, record, read)
    }
  }
  watch(id, variable, give, history, trust, call)
}

#' @rdname watchVar
#' @export
stopWatching <- function() {
  tryInvokeRestart("remotist_stop_watching")
  abort_remotist("not_watching", c(
    "Nothing is being watched.",
    i = "{.fn stopWatching} is for the function that you give to {.fn watchVar}."
  ), call = environment())
}

# Gives each record with what was read of it, calls `finally`, and says how it ended.
watch <- function(id, variable, give, history, trust, call, finally = function() NULL) {
  persist <- new_persistence()
  ending <- withRestarts(
    tryCatch(follow(id, variable, give, history, trust, persist, call), interrupt = function(e) "interrupted"),
    remotist_stop_watching = function() "stopped"
  )
  finally()
  name <- clean_text(variable)
  if (!identical(ending, "ended")) {
    cli::cli_inform(c(i = "You no longer watch {.var {name}} of job {.val {id}}; if it runs, it goes on."))
    return(invisible(new_job(list(id = id))))
  }
  job <- persist(function() look(id, call))$job
  cli::cli_inform(c(i = "Job {.val {id}} has ended: it is {job$state}."))
  invisible(job)
}

# Returns "ended" with the job. Requests are held by the market until there is something new.
follow <- function(id, variable, give, history, trust, persist, call) {
  seen <- 0
  show <- function(record) {
    # What came while pages were read.
    if (record$sequence <= seen) return(invisible())
    seen <<- record$sequence
    if (!record$superseded) give(record, persist(function() record_value(id, record, trust, call)))
  }
  repeat {
    response <- persist(function() {
      with_watched(id, variable, call, function(named) {
        variable <<- named
        ask("GET", partial_path(id, named), query = list(after = whole_text(seen)), call = call)
      })
    })
    status <- httr2::resp_status(response)
    if (status == 204L) return("ended")
    if (status == 304L) next
    record <- new_record(answer(response, call), variable, call)
    if (record$sequence <= seen) abort_damaged(list(path = variable), "the market tells of it twice", call)
    if (record$sequence > seen + 1 && (history || seen > 0)) {
      each_record(id, variable, whole_text(seen + 1), whole_text(record$sequence - 1), show, call, persist)
    }
    show(record)
  }
}

tell_missing <- function(variable, record, read) {
  name <- clean_text(variable)
  when <- time_text(record$time)
  words <- read$words
  cli::cli_inform(c(
    "!" = "{.var {name}} has no value since {when}: {words}.",
    i = if (read$missing == "left_out") "A stranger's machine made this, so only plain data is given. If you trust it: {.code trust = TRUE}."
  ))
}
