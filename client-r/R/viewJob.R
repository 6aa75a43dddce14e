#' View a job
#'
#' @param id A job, or its id.
#' @returns The current state of the job, an object of class `remotist_job`: a list with `id`,
#'   `name`, `state` (`uploading`, `queued`, `assigned`, `running`, `completed`,
#'   `failed`, `cancelled` or `expired`), `progress`, `price` and more. It also has the data frames
#'   `attempts` and `checkpoints` of [jobHistory()], of which the newest rows are printed: for attempts the
#'   machine, the time, the outcome, the checkpoint that it resumed from, the credits paid, and the CPU time
#'   saved because a later attempt resumed from a checkpoint of it; for checkpoints the time, the size, the
#'   part that was sent, how long the script was stopped, and the position of the script.
#' @seealso [jobHistory()], [plotJob()]
#' @inherit addJob examples
#' @export
viewJob <- function(id) {
  call <- environment()
  check_required("id", call)
  id <- id_of(id, "id", "job", call)
  job <- fetch_job(id, call)
  history <- if (isTRUE(job$attempt > 0)) {
    # A market that is older than this package has no such lists.
    tryCatch(read_job_history(id, call), remotist_not_found = function(e) NULL)
  }
  job$attempts <- if (is.null(history)) new_attempts(list()) else history$attempts
  job$checkpoints <- if (is.null(history)) new_checkpoints(list()) else history$checkpoints
  job
}

fetch_job <- function(id, call) new_job(parse_body(send_request("GET", paste0("/job/", id), call = call), call))
