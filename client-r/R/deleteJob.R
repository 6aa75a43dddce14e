#' Delete a job with all its files
#'
#' Only a job that has ended can be deleted. [cancelJob()] ends a job.
#'
#' @inheritParams viewJob
#' @returns Nothing, invisibly.
#' @inherit addJob examples
#' @export
deleteJob <- function(id) {
  call <- environment()
  check_required("id", call)
  id <- id_of(id, "id", "job", call)
  tryCatch(
    send_request("DELETE", paste0("/job/", id), call = call),
    remotist_wrong_state = function(cause) {
      abort_remotist("wrong_state", c(
        "Job {.val {id}} cannot be deleted because it has not ended.",
        i = "Cancel it first: {.code cancelJob(\"{id}\")}."
      ), status = cause$status, call = call)
    }
  )
  cli::cli_inform(c(v = "Deleted job {.val {id}}."))
  invisible()
}
