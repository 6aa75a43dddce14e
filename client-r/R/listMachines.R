#' List the machines that you lend
#'
#' @param page The number of the page; a page has 50 machines, newest first.
#' @returns A data frame of class `remotist_machines` with a row for each machine: `id`,
#'   `name`, `state`, `cpu`, `ram`, `disc`, `price` and `seen_at`.
#' @inherit addMachine examples
#' @export
listMachines <- function(page = 1) {
  call <- environment()
  page <- check_page(page, call)
  body <- parse_body(send_request("GET", "/machine/", query = list(page = page), call = call), call)
  machines <- lapply(body$machines, new_machine)
  column <- function(field, kind) vapply(machines, function(machine) machine[[field]], kind)
  listed <- data.frame(
    id = column("id", ""), name = column("name", ""), state = column("state", ""), cpu = column("cpu", 0),
    ram = column("ram", 0), disc = column("disc", 0), price = column("price", 0),
    seen_at = as.POSIXct(vapply(machines, function(machine) as.numeric(machine$seen_at), 0), origin = "1970-01-01", tz = "UTC")
  )
  structure(listed, class = c("remotist_machines", "data.frame"), page = page, more = isTRUE(body$more))
}

#' @export
print.remotist_machines <- function(x, ...) {
  shown <- as.data.frame(unclass(x), stringsAsFactors = FALSE)
  if (!nrow(shown)) {
    cat(if (isTRUE(attr(x, "page") > 1)) "No machines on this page.\n" else "No machines. Register one with addMachine().\n")
    return(invisible(x))
  }
  if (all(c("name", "seen_at") %in% names(shown))) {
    shown$name <- substr(clean_text(shown$name), 1L, 40L)
    shown$seen_at <- ifelse(is.na(x$seen_at), "", format(x$seen_at, "%m-%d %H:%M", tz = ""))
  }
  print(shown, row.names = FALSE, right = FALSE)
  if (isTRUE(attr(x, "more"))) cat("More machines: listMachines(page = ", attr(x, "page") + 1L, ")\n", sep = "")
  invisible(x)
}
