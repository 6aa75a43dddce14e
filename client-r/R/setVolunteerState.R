#' Set whether a lent machine accepts jobs
#'
#' A machine in the state `"busy"` gets no new jobs; jobs that it runs continue.
#'
#' @param state `"free"` or `"busy"`.
#' @param machineId A machine or its id; by default the machine of [startVolunteer()].
#' @returns The state, invisibly.
#' @examplesIf nzchar(Sys.getenv("REMOTIST_URL")) && nzchar(Sys.getenv("REMOTIST_BIN"))
#' email <- paste0(basename(tempfile("state-")), "@example.org")
#' register(email, "correct horse battery")
#' login(email, "correct horse battery")
#' machine <- addMachine("laptop", cpu = 1, disc = 2000, ram = 1000, price = 1)
#' try({
#'   startVolunteer(machine)
#'   setVolunteerState("busy")
#'   setVolunteerState("free")
#'   stopVolunteer()
#' })
#' logout()
#' @export
setVolunteerState <- function(state, machineId = NULL) {
  call <- environment()
  check_required("state", call)
  if (!is_string(state) || !state %in% c("free", "busy")) {
    abort_argument("state", "must be {.val free} or {.val busy}", state, call = call)
  }
  if (is.null(machineId)) machineId <- current_machine(call)
  id <- id_of(machineId, "machineId", "machine", call)
  send_request("POST", "/volunteer/setState", list(machine = id, state = state), idempotent = TRUE, call = call)
  cli::cli_inform(c(v = "Machine {.val {id}} is now {.val {state}}."))
  invisible(state)
}

# The machine that this R session lends, or the only one that this computer has lent.
current_machine <- function(call) {
  if (!is.null(r_session$volunteer)) return(r_session$volunteer)
  known <- list.files(agents_folder())
  if (length(known) == 1L) return(known)
  abort_remotist("invalid_argument", c(
    "{.arg machineId} is needed to select a machine.",
    x = if (length(known)) "This computer has lent {length(known)} machines." else "This computer has lent no machine.",
    i = "{.run remotist::listMachines()} shows your machines with their ids."
  ), argument = "machineId", call = call)
}
