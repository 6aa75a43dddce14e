# A lent machine as the market describes it.

new_machine <- function(body) {
  number <- function(field) if (is.numeric(body[[field]])) as.numeric(body[[field]]) else NA_real_
  structure(
    list(
      id = body$id, name = body$name, state = body$state, cpu = number("cpu"), ram = number("ram"), disc = number("disc"),
      price = number("price"), ban_reason = if (is_string(body$ban_reason)) clean_text(body$ban_reason) else NA_character_,
      created_at = time_of(body$created_at), seen_at = time_of(body$seen_at)
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
    `ban reason` = x$ban_reason,
    lends = sprintf("%d core%s, %s MB RAM, %s MB disc", as.integer(x$cpu), if (isTRUE(x$cpu == 1)) "" else "s", count_text(x$ram), count_text(x$disc)),
    price = paste(credits_text(x$price), "per core and hour"),
    created = time_text(x$created_at),
    seen = time_text(x$seen_at)
  ))
  invisible(x)
}

#' @export
as.character.remotist_machine <- function(x, ...) x$id
