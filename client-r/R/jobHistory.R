#' The attempts and checkpoints of a job
#'
#' Each assignment of a job to a machine is an *attempt*. While a script runs, its state is saved in
#' *checkpoints*: when a machine disappears or hands the job over, another one continues from the
#' newest checkpoint that it can use. The market keeps only the newest checkpoints of a job.
#'
#' @inheritParams viewJob
#' @returns An object of class `remotist_job_history`: a list of two data frames. A value that is not known,
#'   such as the end of an attempt that goes on, is `NA`. Times are [POSIXct][DateTimeClasses].
#'
#'   `attempts` has the columns
#'
#'   * `number`, counted up from 1;
#'   * `machine`, the id of the machine, and `machine_name`, its name if the machine is yours;
#'   * `assigned_at`, `accepted_at` and `ended_at`;
#'   * `outcome`: `completed`, `failed`, `lost` (the machine disappeared), `handed_back` (the machine
#'     could not continue), `refused`, `cancelled` or `expired`;
#'   * `cpu_seconds`, the CPU time that it used, and `paid`, what the machine earned for it, in credits;
#'   * `saved_seconds`, the CPU time that did not have to be repeated, because a later attempt resumed
#'     from a checkpoint of this one;
#'   * `checkpoints`, how many checkpoints it recorded;
#'   * `resumed_from`, the checkpoint that it resumed from; 0 if it could use none and started from the
#'     beginning, `NA` if there was none or it has not started yet;
#'   * `skipped`, the checkpoints that could not be used, with their reasons, as text.
#'
#'   `checkpoints` has the columns
#'
#'   * `sequence`, the number of the checkpoint, and `attempt`, that of the attempt that recorded it;
#'   * `time`, when the state was saved;
#'   * `size` and `sent`, in bytes: the whole checkpoint, and the part that the market did not have yet;
#'   * `pause_seconds`, how long the script was stopped for it;
#'   * `file`, `line` and `call`, the position of the script;
#'   * `cpu_seconds`, the CPU time of the job up to this checkpoint;
#'   * `r_version`, `architecture` and `packages` (a list of character vectors), what a machine needs to
#'     continue from it;
#'   * `usable`, whether it can still be used, and `why` it cannot.
#' @seealso [plotJob()], which plots the history; [migrateJob()], [checkpoint()]
#' @examplesIf nzchar(Sys.getenv("REMOTIST_URL"))
#' email <- paste0(basename(tempfile("hist-")), "@example.org")
#' register(email, "correct horse battery")
#' login(email, "correct horse battery")
#' folder <- tempfile()
#' dir.create(folder)
#' writeLines("x <- 0; for (i in 1:1000) x <- x + mean(rnorm(1e6))", file.path(folder, "main.R"))
#' job <- addJob("means", "main.R", folder_path = folder)
#' jobHistory(job)$attempts
#' cancelJob(job)
#' deleteJob(job)
#' logout()
#' @export
jobHistory <- function(id) {
  call <- environment()
  check_required("id", call)
  id <- id_of(id, "id", "job", call)
  read_job_history(id, call)
}

read_job_history <- function(id, call) {
  structure(list(attempts = read_attempts(id, call), checkpoints = read_checkpoints(id, call)), class = "remotist_job_history", job = id)
}

#' @export
print.remotist_job_history <- function(x, ...) {
  id <- attr(x, "job")
  cat("History of job ", if (is_string(id)) clean_text(id), "\n", sep = "")
  if (nrow(x$attempts)) print_attempts(x$attempts, 20L) else cat("  no attempts\n")
  if (nrow(x$checkpoints)) print_checkpoints(x$checkpoints, 20L) else cat("  no checkpoints\n")
  invisible(x)
}
