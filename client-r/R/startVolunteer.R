#' Lend this machine
#'
#' Starts `volunteer-agent` in the background. It takes jobs for the machine, runs each of
#' them in a sandbox without network or access to your files, and earns credits. It
#' goes on when R ends, until [stopVolunteer()].
#'
#' The program is found by `options(remotist.agent = )`, in the folder named by the environment
#' variable `REMOTIST_BIN`, or on the `PATH`. It needs Linux.
#'
#' @param machineId A machine of yours ([addMachine()]), or its id.
#' @param port For connections among volunteers, which are yet to come: nothing listens
#'   there today, and no port needs to be open.
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
  check_given("machineId", call)
  id <- id_of(machineId, "machineId", "machine", call)
  if (!is.null(port)) check_whole(port, "port", 1, 65535, NULL, call)
  program <- agent_program(call)
  machine <- new_machine(answer(ask("GET", paste0("/machine/", id), call = call), call))
  if (agent_runs(program, id)) {
    session$volunteer <- id
    cli::cli_inform(c(i = "Machine {.val {id}} is lent already."))
    return(invisible(machine))
  }
  folder <- write_agent_folder(machine, call)
  said <- run_agent(program, folder, c("start", "--background"))
  if (attr(said, "status") != 0L) abort_agent(said, "did not start", call)
  session$volunteer <- id
  cli::cli_inform(c(
    v = "Machine {.val {machine$name}} takes jobs, also when this session ends.",
    i = "{.run remotist::stopVolunteer()} ends that. Its log is {.file {file.path(folder, 'log')}}."
  ))
  invisible(machine)
}
