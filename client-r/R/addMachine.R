#' Add a machine to lend
#'
#' Tells the market of a machine. It takes no jobs until [startVolunteer()].
#'
#' @param name What you call it; no two of your machines have the same name.
#' @param cpu Cores to lend.
#' @param disc,ram Disc and memory to lend, in MB.
#' @param price What an hour of one core costs, in credits.
#' @returns The machine, an object of class `remotist_machine`, which can be given
#'   wherever a machine's id is asked for.
#' @examplesIf nzchar(Sys.getenv("REMOTIST_URL"))
#' email <- paste0(basename(tempfile("lend-")), "@example.org")
#' register(email, "correct horse battery")
#' login(email, "correct horse battery")
#' machine <- addMachine("laptop", cpu = 2, disc = 10000, ram = 4000, price = 1)
#' viewMachine(machine)
#' listMachines()
#' logout()
#' @export
addMachine <- function(name, cpu, disc, ram, price) {
  call <- environment()
  check_given(c("name", "cpu", "disc", "ram", "price"), call)
  wanted <- list(
    name = check_string(name, "name", 200L, call),
    cpu = check_whole(cpu, "cpu", 1, 256, "cores", call),
    disc = check_whole(disc, "disc", 1, 16777216, "MB", call),
    ram = check_whole(ram, "ram", 64, 4194304, "MB", call),
    price = check_price(price, "credits for an hour of a core", call)
  )
  machine <- new_machine(answer(ask("PUT", "/machine/", wanted, call = call), call))
  cli::cli_inform(c(v = "Machine {.val {machine$id}} is added.", i = "It takes jobs once you call {.fn startVolunteer} with it."))
  machine
}
