#' Cancel a job
#'
#' Ends a job that waits or runs. What was done of it is paid; the rest of its price
#' comes back.
#'
#' @inheritParams viewJob
#' @returns The job, invisibly.
#' @inherit addJob examples
#' @export
cancelJob <- function(id) {
  call <- environment()
  check_given("id", call)
  id <- id_of(id, "id", "job", call)
  job <- new_job(answer(ask("POST", paste0("/job/", id, "/cancel"), again = TRUE, call = call), call))
  cli::cli_inform(c(v = "Job {.val {id}} is {job$state}."))
  invisible(job)
}
