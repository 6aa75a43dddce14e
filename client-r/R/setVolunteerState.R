#' Say whether a lent machine is free
#'
#' A machine that is busy gets no new jobs; what it runs goes on.
#'
#' @param state `"free"` or `"busy"`.
#' @param machineId Which machine; by default the one of [startVolunteer()].
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
  check_given("state", call)
  if (!is_string(state) || !state %in% c("free", "busy")) {
    abort_argument("state", "must be {.val free} or {.val busy}", state, call = call)
  }
  if (is.null(machineId)) machineId <- volunteer_here(call)
  id <- id_of(machineId, "machineId", "machine", call)
  ask("POST", "/volunteer/setState", list(machine = id, state = state), again = TRUE, call = call)
  cli::cli_inform(c(v = "Machine {.val {id}} is {state}."))
  invisible(state)
}

# The machine of this session, or the only one that was ever lent from here.
volunteer_here <- function(call) {
  if (!is.null(session$volunteer)) return(session$volunteer)
  known <- list.files(agents_folder())
  if (length(known) == 1L) return(known)
  abort_remotist("invalid_argument", c(
    "{.arg machineId} must say which machine is meant.",
    x = if (length(known)) "{length(known)} machines are lent from here." else "No machine is lent from here.",
    i = "{.run remotist::listMachines()} shows your machines with their ids."
  ), argument = "machineId", call = call)
}
