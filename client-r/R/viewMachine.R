#' View a lent machine
#'
#' @param id A machine, or its id.
#' @returns The machine as it is now, an object of class `remotist_machine`: a list with
#'   `id`, `name`, `state` (`offline`, `idle`, `busy`, `paused` or `banned`), `cpu`, `ram`, `disc`,
#'   `price`, `created_at`, `seen_at` (its last contact with the market) and `ban_reason` (if an
#'   administrator has banned it, else `NA`).
#' @inherit addMachine examples
#' @export
viewMachine <- function(id) {
  call <- environment()
  check_required("id", call)
  id <- id_of(id, "id", "machine", call)
  new_machine(parse_body(send_request("GET", paste0("/machine/", id), call = call), call))
}
