# A machine that is lent, as the market tells of it.

new_machine <- function(told) {
  number <- function(field) if (is.numeric(told[[field]])) as.numeric(told[[field]]) else NA_real_
  structure(
    list(
      id = told$id, name = told$name, state = told$state, cpu = number("cpu"), ram = number("ram"), disc = number("disc"),
      price = number("price"), created_at = time_of(told$created_at), seen_at = time_of(told$seen_at)
    ),
    class = "remotist_machine"
  )
}

#' @export
format.remotist_machine <- function(x, ...) paste0("<machine ", x$id, " \"", x$name, "\": ", x$state, ">")

#' @export
print.remotist_machine <- function(x, ...) {
  print_table(paste0("Machine \"", clean_text(x$name), "\""), list(
    id = x$id,
    state = x$state,
    lends = sprintf("%d core%s, %s MB RAM, %s MB disc", as.integer(x$cpu), if (isTRUE(x$cpu == 1)) "" else "s", count_text(x$ram), count_text(x$disc)),
    price = paste(credits_text(x$price), "for an hour of a core"),
    created = time_text(x$created_at),
    seen = time_text(x$seen_at)
  ))
  invisible(x)
}

#' @export
as.character.remotist_machine <- function(x, ...) x$id
