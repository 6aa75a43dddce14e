#' View a job
#'
#' @param id A job, or its id.
#' @returns The job as it is now, an object of class `remotist_job`: a list with `id`,
#'   `name`, `state` (`uploading`, `queued`, `assigned`, `running`, `completed`,
#'   `failed`, `cancelled` or `expired`), `progress`, `price` and more.
#' @inherit addJob examples
#' @export
viewJob <- function(id) {
  call <- environment()
  check_given("id", call)
  id <- id_of(id, "id", "job", call)
  new_job(answer(ask("GET", paste0("/job/", id), call = call), call))
}
