#' Register a machine to lend
#'
#' Registers a machine at the market. It gets no jobs until you call [startVolunteer()].
#'
#' @param name A name for the machine, unique among your machines.
#' @param cpu Number of CPU cores to lend.
#' @param disc,ram Disc space and memory to lend, in MB.
#' @param price The price of one core for one hour, in credits.
#' @returns The machine, an object of class `remotist_machine`. All functions that take a
#'   machine's id accept it.
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
  check_required(c("name", "cpu", "disc", "ram", "price"), call)
  wanted <- list(
    name = check_string(name, "name", machine_name_bytes_max, call),
    cpu = check_whole(cpu, "cpu", 1, cpu_cores_max, "cores", call),
    disc = check_whole(disc, "disc", disc_mb_min, disc_mb_max, "MB", call),
    ram = check_whole(ram, "ram", ram_mb_min, ram_mb_max, "MB", call),
    price = check_price(price, "credits per core and hour", call)
  )
  machine <- new_machine(parse_body(send_request("PUT", "/machine/", wanted, call = call), call))
  cli::cli_inform(c(v = "Registered machine {.val {machine$id}}.", i = "To let it run jobs, call {.fn startVolunteer}."))
  machine
}
