#' Move a running job to another machine
#'
#' Asks the machine that runs the job to save a checkpoint and to hand the job back. The job is then
#' queued again, and another machine continues from its newest checkpoint. If the machine does not
#' hand the job back within two minutes, the market takes it back, and the checkpoint before counts.
#' What the machine has done up to the checkpoint that is used is paid.
#'
#' @inheritParams viewJob
#' @returns Nothing, invisibly. [viewJob()] shows how far the job is. For a job that is not running, an
#'   error of class `remotist_wrong_state` is raised.
#' @seealso [jobHistory()]
#' @examplesIf nzchar(Sys.getenv("REMOTIST_URL")) && nzchar(Sys.getenv("REMOTIST_VOLUNTEERS"))
#' email <- paste0(basename(tempfile("move-")), "@example.org")
#' register(email, "correct horse battery")
#' login(email, "correct horse battery")
#' folder <- tempfile()
#' dir.create(folder)
#' writeLines("x <- 0; for (i in 1:100) { x <- x + i; Sys.sleep(0.1) }", file.path(folder, "main.R"))
#' job <- addJob("a sum", "main.R", folder_path = folder)
#' while (viewJob(job)$state != "running") Sys.sleep(0.2)
#' try(migrateJob(job))
#' waitJob(job)
#' jobHistory(job)
#' plotJob(job, text = TRUE)
#' deleteJob(job)
#' logout()
#' @export
migrateJob <- function(id) {
  call <- environment()
  check_required("id", call)
  id <- id_of(id, "id", "job", call)
  tryCatch(
    send_request("POST", paste0("/job/", id, "/migrate"), call = call),
    remotist_wrong_state = function(cause) abort_not_running(id, cause, call)
  )
  cli::cli_inform(c(
    v = "Job {.val {id}} is being moved to another machine.",
    i = "{.code viewJob(\"{id}\")} shows how far it is."
  ))
  invisible()
}

abort_not_running <- function(id, cause, call) {
  job <- fetch_job(id, call)
  advice <- if (has_ended(job)) {
    "The job has ended."
  } else if (identical(job$state, "uploading")) {
    "The job has not been submitted."
  } else {
    "A machine that has not begun the job has nothing to hand over. {.code viewJob(\"{id}\")} shows when the job runs."
  }
  abort_remotist("wrong_state", c(
    "Job {.val {id}} cannot be moved because it is not running.",
    x = "Its state is {.val {job$state}}.",
    i = advice
  ), status = cause$status, job = id, state = job$state, call = call)
}
