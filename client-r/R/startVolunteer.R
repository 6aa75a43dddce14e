#' Lend this machine
#'
#' Starts `volunteer-agent` in the background. It accepts jobs for the machine and runs each of
#' them in a sandbox without access to the network or to your files; you earn credits for them. The
#' agent continues when R ends, until you call [stopVolunteer()].
#'
#' The program is looked up in `options(remotist.agent = )`, in the folder that the environment
#' variable `REMOTIST_BIN` names, and on the `PATH`. It needs Linux.
#'
#' @param machineId A machine of yours ([addMachine()]) or its id.
#' @param port Reserved for direct connections between volunteers, which do not exist yet: it is
#'   checked, but not used, and no port needs to be open.
#' @returns The machine, invisibly.
#' @seealso [setVolunteerState()]
#' @examplesIf nzchar(Sys.getenv("REMOTIST_URL")) && nzchar(Sys.getenv("REMOTIST_BIN"))
#' email <- paste0(basename(tempfile("vol-")), "@example.org")
#' register(email, "correct horse battery")
#' login(email, "correct horse battery")
#' machine <- addMachine("laptop", cpu = 1, disc = 2000, ram = 1000, price = 1)
#' try({
#'   startVolunteer(machine)
#'   stopVolunteer()
#' })
#' logout()
#' @export
startVolunteer <- function(machineId, port = NULL) {
  call <- environment()
  check_required("machineId", call)
  id <- id_of(machineId, "machineId", "machine", call)
  if (!is.null(port)) check_whole(port, "port", 1, 65535, NULL, call)
  program <- agent_program(call)
  machine <- new_machine(parse_body(send_request("GET", paste0("/machine/", id), call = call), call))
  if (agent_is_running(program, id)) {
    r_session$volunteer <- id
    cli::cli_inform(c(i = "Machine {.val {id}} is already lent."))
    return(invisible(machine))
  }
  folder <- write_agent_folder(machine, call)
  output <- run_agent(program, folder, c("start", "--background"))
  if (attr(output, "status") != 0L) abort_agent(output, "did not start", call)
  r_session$volunteer <- id
  cli::cli_inform(c(
    v = "Machine {.val {machine$name}} now accepts jobs, also after this R session ends.",
    i = "To stop it, use {.run remotist::stopVolunteer()}. Its log is {.file {file.path(folder, 'log')}}."
  ))
  invisible(machine)
}
