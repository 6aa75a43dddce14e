#' Delete a job with all its files
#'
#' Only a job that has ended can be deleted: [cancelJob()] ends one.
#'
#' @inheritParams viewJob
#' @returns Nothing, invisibly.
#' @inherit addJob examples
#' @export
deleteJob <- function(id) {
  call <- environment()
  check_given("id", call)
  id <- id_of(id, "id", "job", call)
  tryCatch(
    ask("DELETE", paste0("/job/", id), call = call),
    remotist_wrong_state = function(cause) {
      abort_remotist("wrong_state", c(
        "Job {.val {id}} has not ended, so it cannot be deleted.",
        i = "Cancel it first: {.code cancelJob(\"{id}\")}."
      ), status = cause$status, call = call)
    }
  )
  cli::cli_inform(c(v = "Job {.val {id}} is deleted."))
  invisible()
}
