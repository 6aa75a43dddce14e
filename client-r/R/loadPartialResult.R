#' The newest value of a watched variable
#'
#' Brings a variable that the job watches (`addJob(partialResultsVars = )`), as it is now or as
#' it was at a time: while the job runs, after it has ended, and after an error.
#'
#' Who runs the job is unknown to you, so the value is distrusted as in [loadJob()]: only plain
#' data is loaded, unless you say `trust = TRUE`.
#'
#' @param jobId A job, or its id.
#' @param partialvar The variable's name, as the job has it, such as `"x"` or `"fit$loss"`;
#'   a rule (`"x every 5"`) may be left out.
#' @param loadToVar The name of a variable to put it in, which is replaced. By default none.
#' @param at A time, for the value that the variable had then; also one that was lost with
#'   its machine since. By default the newest value.
#' @param envir Where `loadToVar` is made.
#' @param trust Whether to load the value as it is, whatever it is. See [loadJob()].
#' @returns The value; invisibly with `loadToVar`. When there is none, an error is raised:
#'   `remotist_no_value` (none yet, or it was removed, or it cannot be shown),
#'   `remotist_not_plain` (it needs `trust`) or `remotist_not_watched`.
#' @seealso [loadPartialResultHistory()], [watchVar()], [plotPartialResult()]
#' @examplesIf nzchar(Sys.getenv("REMOTIST_URL")) && nzchar(Sys.getenv("REMOTIST_VOLUNTEERS"))
#' email <- paste0(basename(tempfile("watch-")), "@example.org")
#' register(email, "correct horse battery")
#' login(email, "correct horse battery")
#' folder <- tempfile()
#' dir.create(folder)
#' writeLines("total <- 0; for (i in 1:20) { total <- total + i; Sys.sleep(0.1) }", file.path(folder, "main.R"))
#' job <- addJob("a sum", "main.R", folder_path = folder, partialResultsVars = "total")
#' watchVar(job, "total", function(value, time) cat(format(time), value, "\n"))
#' loadPartialResult(job, "total")
#' history <- loadPartialResultHistory(job, "total")
#' history
#' loadPartialResult(job, "total", at = history$time[[2]])
#' plotPartialResult(job, "total", text = TRUE)
#' deleteJob(job)
#' logout()
#' @export
loadPartialResult <- function(jobId, partialvar, loadToVar = NULL, at = NULL, envir = parent.frame(), trust = FALSE) {
  call <- environment()
  check_given(c("jobId", "partialvar"), call)
  id <- id_of(jobId, "jobId", "job", call)
  variable <- check_variable(partialvar, "partialvar", call)
  target <- check_target(loadToVar, envir, call)
  moment <- if (!is.null(at)) check_time(at, "at", call)
  check_flag(trust, "trust", call)
  if (!trust) check_reader(getRversion(), call, "loadPartialResult(id, var, trust = TRUE)")
  record <- with_watched(id, variable, call, function(named) newest_record(id, named, moment, call))
  read <- record_value(id, record, trust, call)
  if (!is.null(read$missing)) abort_missing(id, variable, record, read, call)
  if (is.null(target)) return(read$value)
  place_value(target, read$value, envir, call)
  when <- time_text(record$time)
  source <- clean_text(variable)
  name <- clean_text(target)
  cli::cli_inform(c(v = "Loaded {.var {name}}: {.var {source}} of {when}."))
  invisible(read$value)
}

abort_missing <- function(id, variable, record, read, call) {
  variable <- clean_text(variable)
  when <- time_text(record$time)
  words <- sentence(read$words)
  if (read$missing == "left_out") {
    abort_remotist("not_plain", c(
      "{.var {variable}} is not plain data.",
      x = "{words}",
      i = "A stranger's machine made this, so only plain data is loaded. If you trust it: {.code trust = TRUE}."
    ), job = id, call = call)
  }
  abort_remotist("no_value", c(
    "{.var {variable}} has no value since {when}.",
    x = "{words}",
    i = "{.code loadPartialResultHistory(\"{id}\", \"{variable}\")} shows what it was before."
  ), job = id, call = call)
}
