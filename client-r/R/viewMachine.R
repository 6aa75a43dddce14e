#' View a machine that you lend
#'
#' @param id A machine, or its id.
#' @returns The machine as it is now, an object of class `remotist_machine`: a list with
#'   `id`, `name`, `state` (`offline`, `idle`, `busy`, `paused` or `banned`), `cpu`, `ram`, `disc`,
#'   `price`, when it was `seen_at`, and the `ban_reason` if an admin has banned it.
#' @inherit addMachine examples
#' @export
viewMachine <- function(id) {
  call <- environment()
  check_given("id", call)
  id <- id_of(id, "id", "machine", call)
  new_machine(answer(ask("GET", paste0("/machine/", id), call = call), call))
}
