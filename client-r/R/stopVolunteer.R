#' Stop lending this machine
#'
#' Stops the agent that [startVolunteer()] started in this R session or an earlier one. Running jobs
#' get half a minute to end; then they are returned to the market, and other machines run them.
#'
#' @param machineId A machine or its id; by default all machines that this computer lends.
#' @param now Whether to return running jobs at once.
#' @returns The ids of the machines that stopped, invisibly.
#' @inherit startVolunteer examples
#' @export
stopVolunteer <- function(machineId = NULL, now = FALSE) {
  call <- environment()
  ids <- if (is.null(machineId)) list.files(agents_folder()) else id_of(machineId, "machineId", "machine", call)
  check_flag(now, "now", call)
  program <- agent_program(call)
  running <- ids[vapply(ids, function(id) agent_is_running(program, id), NA)]
  if (!length(running)) {
    cli::cli_inform(c(i = "This computer lends no machine."))
    return(invisible(character()))
  }
  for (id in running) {
    output <- run_agent(program, agent_folder(id), c("stop", if (now) "--now"))
    if (attr(output, "status") != 0L) abort_agent(output, "did not stop", call)
  }
  r_session$volunteer <- NULL
  cli::cli_inform(c(v = "Stopped {length(running)} machine{?s}."))
  invisible(running)
}
