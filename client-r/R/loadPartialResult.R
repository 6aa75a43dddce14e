#' Load the newest value of a watched variable
#'
#' Returns the newest value of a variable that the job watches (`addJob(partialResultsVars = )`), or
#' its value at a given time. This works while the job runs, after it has ended and after an error.
#'
#' As in [loadJob()], the value comes from a machine that you do not know, so only plain data is
#' loaded unless you set `trust = TRUE`.
#'
#' @param jobId A job, or its id.
#' @param partialvar The name of the variable as given to [addJob()], such as `"x"` or `"fit$loss"`;
#'   the rule of a name such as `"x every 5"` may be omitted.
#' @param loadToVar The name of a variable to assign the value to; an existing one is replaced. By
#'   default none.
#' @param at A time, to get the value that the variable had then, even if that part of the job was
#'   lost with its machine later. By default the newest value.
#' @param envir The environment in which `loadToVar` is assigned.
#' @param trust Whether to load any value without checks. See [loadJob()].
#' @returns The value; invisibly with `loadToVar`. Without a value, an error is raised:
#'   `remotist_no_value` (the variable has no value yet, was removed, or cannot be recorded),
#'   `remotist_not_plain` (the value needs `trust = TRUE`) or `remotist_not_watched`.
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
  check_required(c("jobId", "partialvar"), call)
  id <- id_of(jobId, "jobId", "job", call)
  variable <- check_variable_name(partialvar, "partialvar", call)
  target <- check_target(loadToVar, envir, call)
  time <- if (!is.null(at)) check_time(at, "at", call)
  check_flag(trust, "trust", call)
  if (!trust) check_r_version(getRversion(), call, "loadPartialResult(id, var, trust = TRUE)")
  record <- with_watched_name(id, variable, call, function(name) newest_record(id, name, time, call))
  read <- record_value(id, record, trust, call)
  if (!is.null(read$missing)) abort_missing(id, variable, record, read, call)
  if (is.null(target)) return(read$value)
  assign_value(target, read$value, envir, call)
  when <- time_text(record$time)
  source <- clean_text(variable)
  name <- clean_text(target)
  cli::cli_inform(c(v = "Loaded the value of {.var {source}} at {when} into {.var {name}}."))
  invisible(read$value)
}

abort_missing <- function(id, variable, record, read, call) {
  variable <- clean_text(variable)
  when <- time_text(record$time)
  reason <- sentence(read$reason)
  if (read$missing == "left_out") {
    abort_remotist("not_plain", c(
      "{.var {variable}} is not plain data.",
      x = "{reason}",
      i = "The value comes from a machine that you do not know, so only plain data is loaded. If you trust it, set {.code trust = TRUE}."
    ), job = id, call = call)
  }
  abort_remotist("no_value", c(
    "{.var {variable}} has had no value since {when}.",
    x = "{reason}",
    i = "{.code loadPartialResultHistory(\"{id}\", \"{variable}\")} shows its earlier values."
  ), job = id, call = call)
}
