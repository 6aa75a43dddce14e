#' All values that a watched variable had
#'
#' The history of a variable that the job watches: while the job runs, after it has ended, and
#' after an error. Oldest first.
#'
#' @inheritParams loadPartialResult
#' @param loadToVar The name of a variable to put the history in, which is replaced. By
#'   default none.
#' @param from,to The first and the last that is wanted: times, or sequence numbers. By
#'   default all.
#' @param page Which page of 200 records, from 1. By default all of them.
#' @param trust Whether to load values as they are, whatever they are. See [loadJob()].
#' @returns A data frame of class `remotist_history`, invisibly with `loadToVar`. It has a row
#'   for each record, and the columns
#'
#'   * `sequence`, the record's number, which grows over the whole job;
#'   * `time`, when the variable changed, by the market's clock;
#'   * `changes`, how many changes the record stands for: more than one where the variable
#'     changed faster than is recorded; 0 when that is not known;
#'   * `kind`: `value`, `removed` (the variable is gone), `problem` (it cannot be shown) or
#'     `left_out` (it is no plain data, and needs `trust = TRUE`);
#'   * `words`, what is to say of the last two;
#'   * `thinned`, whether records before it are gone because the history was too large;
#'   * `superseded`, whether it was lost with its machine, and that part of the job is done again;
#'   * `value`, a list with the values; `NULL` where `kind` is not `value`.
#' @seealso [loadPartialResult()], [watchVar()], [plotPartialResult()]
#' @inherit loadPartialResult examples
#' @export
loadPartialResultHistory <- function(jobId, partialvar, loadToVar = NULL, from = NULL, to = NULL, page = NULL,
                                     envir = parent.frame(), trust = FALSE) {
  call <- environment()
  check_given(c("jobId", "partialvar"), call)
  id <- id_of(jobId, "jobId", "job", call)
  variable <- check_variable(partialvar, "partialvar", call)
  target <- check_target(loadToVar, envir, call)
  from <- check_end(from, "from", call)
  to <- check_end(to, "to", call)
  if (!is.null(page)) page <- check_page(page, call)
  check_flag(trust, "trust", call)
  if (!trust) check_reader(getRversion(), call, "loadPartialResultHistory(id, var, trust = TRUE)")
  told <- with_watched(id, variable, call, function(named) read_history(id, named, from, to, page, call))
  history <- new_history(id, variable, told$records, trust, call)
  attr(history, "page") <- page
  attr(history, "more") <- told$more
  if (is.null(target)) return(history)
  place_value(target, history, envir, call)
  n <- nrow(history)
  source <- clean_text(variable)
  name <- clean_text(target)
  cli::cli_inform(c(v = "Loaded {.var {name}}: {n} record{?s} of {.var {source}}."))
  invisible(history)
}

read_history <- function(id, variable, from, to, page, call) {
  if (!is.null(page)) return(history_page(id, variable, list(from = from, to = to, page = page, per_page = history_rows), call))
  # Kept by sequence: a list that grows at its end is copied each time.
  kept <- new.env(hash = TRUE, parent = emptyenv())
  count <- 0L
  each_record(id, variable, from, to, function(record) {
    count <<- count + 1L
    assign(as.character(count), record, envir = kept)
  }, call)
  list(records = unname(mget(as.character(seq_len(count)), envir = kept)), more = FALSE)
}

new_history <- function(id, variable, records, trust, call) {
  read <- lapply(records, function(record) record_value(id, record, trust, call))
  column <- function(field, kind) vapply(records, function(record) record[[field]], kind)
  history <- data.frame(
    sequence = column("sequence", 0), time = as.POSIXct(column("time", 0), origin = "1970-01-01", tz = "UTC"), changes = column("changes", 0),
    kind = vapply(read, function(one) if (is.null(one$missing)) "value" else one$missing, ""),
    words = vapply(read, function(one) if (is.null(one$words)) NA_character_ else one$words, ""),
    thinned = column("thinned", NA), superseded = column("superseded", NA)
  )
  history$value <- lapply(read, function(one) one$value)
  structure(history, class = c("remotist_history", "data.frame"), variable = variable)
}

#' @export
print.remotist_history <- function(x, ...) {
  if (!all(c("sequence", "time", "value", "kind", "words") %in% names(x))) {
    print(as.data.frame(unclass(x)))
    return(invisible(x))
  }
  n <- nrow(x)
  if (!n) {
    cat("No records.\n")
    return(invisible(x))
  }
  rows <- if (n > 20L) c(1:10, (n - 9L):n) else seq_len(n)
  shown <- data.frame(
    sequence = x$sequence[rows], time = format(x$time[rows], "%H:%M:%OS3", tz = ""),
    value = vapply(rows, function(i) if (x$kind[[i]] == "value") describe(x$value[[i]]) else x$words[[i]], "")
  )
  for (mark in intersect(c("thinned", "superseded"), names(x))) if (any(x[[mark]][rows])) shown[[mark]] <- ifelse(x[[mark]][rows], "yes", "")
  cat(clean_text(attr(x, "variable")), ": ", n, if (n == 1L) " record\n" else " records\n", sep = "")
  print(utils::head(shown, 10L), row.names = FALSE, right = FALSE)
  if (n > 20L) cat("... ", n - 20L, " more\n", sep = "")
  if (n > 10L) print(shown[11:nrow(shown), ], row.names = FALSE, right = FALSE)
  if (isTRUE(attr(x, "more"))) cat("More: page = ", attr(x, "page") + 1L, "\n", sep = "")
  invisible(x)
}
