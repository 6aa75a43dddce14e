#' Cancel a job
#'
#' Ends a job that is waiting or running. CPU time that it has used is paid; the rest of its
#' price returns to your account.
#'
#' @inheritParams viewJob
#' @returns The job, invisibly.
#' @inherit addJob examples
#' @export
cancelJob <- function(id) {
  call <- environment()
  check_required("id", call)
  id <- id_of(id, "id", "job", call)
  job <- new_job(parse_body(send_request("POST", paste0("/job/", id, "/cancel"), idempotent = TRUE, call = call), call))
  cli::cli_inform(c(v = "Job {.val {id}} is {job$state}."))
  invisible(job)
}
