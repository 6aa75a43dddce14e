#' View a job
#'
#' @param id A job, or its id.
#' @returns The current state of the job, an object of class `remotist_job`: a list with `id`,
#'   `name`, `state` (`uploading`, `queued`, `assigned`, `running`, `completed`,
#'   `failed`, `cancelled` or `expired`), `progress`, `price` and more.
#' @inherit addJob examples
#' @export
viewJob <- function(id) {
  call <- environment()
  check_required("id", call)
  id <- id_of(id, "id", "job", call)
  fetch_job(id, call)
}

fetch_job <- function(id, call) new_job(parse_body(send_request("GET", paste0("/job/", id), call = call), call))
