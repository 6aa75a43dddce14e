#' Lend this machine no longer
#'
#' Stops what [startVolunteer()] started, in this session or an earlier one. Jobs that run
#' get half a minute to end; then they are handed back, and other machines run them.
#'
#' @param machineId Which machine; by default all that are lent from here.
#' @param now Whether to hand back what runs at once.
#' @returns The ids of the machines that stopped, invisibly.
#' @inherit startVolunteer examples
#' @export
stopVolunteer <- function(machineId = NULL, now = FALSE) {
  call <- environment()
  ids <- if (is.null(machineId)) list.files(agents_folder()) else id_of(machineId, "machineId", "machine", call)
  check_flag(now, "now", call)
  program <- agent_program(call)
  running <- ids[vapply(ids, function(id) agent_runs(program, id), NA)]
  if (!length(running)) {
    cli::cli_inform(c(i = "No machine is lent from here."))
    return(invisible(character()))
  }
  for (id in running) {
    said <- run_agent(program, agent_folder(id), c("stop", if (now) "--now"))
    if (attr(said, "status") != 0L) abort_agent(said, "did not stop", call)
  }
  session$volunteer <- NULL
  cli::cli_inform(c(v = "{length(running)} machine{?s} {?is/are} lent no longer."))
  invisible(running)
}
