#' Load the history of a watched variable
#'
#' Returns the recorded values of a variable that the job watches, oldest first. This works while
#' the job runs, after it has ended and after an error.
#'
#' @inheritParams loadPartialResult
#' @param loadToVar The name of a variable to assign the history to; an existing one is replaced. By
#'   default none.
#' @param from,to The range of records: times or sequence numbers, both inclusive. By default all
#'   records.
#' @param page The number of a page of 200 records, from 1. By default all records.
#' @param trust Whether to load any value without checks. See [loadJob()].
#' @returns A data frame of class `remotist_history`, invisibly with `loadToVar`. It has a row
#'   for each record, and the columns
#'
#'   * `sequence`, the number of the record, which increases over the whole job;
#'   * `time`, when the variable changed, by the market's clock;
#'   * `changes`, the number of changes that the record stands for: more than one where the variable
#'     changed faster than it is recorded, 0 when the number is not known;
#'   * `kind`: `value`, `removed` (the variable was removed), `problem` (it cannot be recorded) or
#'     `left_out` (it is not plain data, and needs `trust = TRUE`);
#'   * `words`, the reason of `problem` and `left_out`;
#'   * `thinned`, whether earlier records were deleted because the history was too large;
#'   * `superseded`, whether that part of the job was lost with its machine and is run again;
#'   * `value`, a list of the values; `NULL` where `kind` is not `value`.
#' @seealso [loadPartialResult()], [watchVar()], [plotPartialResult()]
#' @inherit loadPartialResult examples
#' @export
loadPartialResultHistory <- function(jobId, partialvar, loadToVar = NULL, from = NULL, to = NULL, page = NULL,
                                     envir = parent.frame(), trust = FALSE) {
  call <- environment()
  check_required(c("jobId", "partialvar"), call)
  id <- id_of(jobId, "jobId", "job", call)
  variable <- check_variable_name(partialvar, "partialvar", call)
  target <- check_target(loadToVar, envir, call)
  from <- check_range_end(from, "from", call)
  to <- check_range_end(to, "to", call)
  if (!is.null(page)) page <- check_page(page, call)
  check_flag(trust, "trust", call)
  if (!trust) check_r_version(getRversion(), call, "loadPartialResultHistory(id, var, trust = TRUE)")
  read <- with_watched_name(id, variable, call, function(name) read_history(id, name, from, to, page, call))
  history <- new_history(id, variable, read$records, trust, call)
  attr(history, "page") <- page
  attr(history, "more") <- read$more
  if (is.null(target)) return(history)
  assign_value(target, history, envir, call)
  n <- nrow(history)
  source <- clean_text(variable)
  name <- clean_text(target)
  cli::cli_inform(c(v = "Loaded {n} record{?s} of {.var {source}} into {.var {name}}."))
  invisible(history)
}

read_history <- function(id, variable, from, to, page, call) {
  if (!is.null(page)) return(history_page(id, variable, list(from = from, to = to, page = page, per_page = page_rows_max), call))
  # An environment, because a list is copied each time that it grows.
  records <- new.env(hash = TRUE, parent = emptyenv())
  count <- 0L
  each_record(id, variable, from, to, function(record) {
    count <<- count + 1L
    assign(as.character(count), record, envir = records)
  }, call)
  list(records = unname(mget(as.character(seq_len(count)), envir = records)), more = FALSE)
}

new_history <- function(id, variable, records, trust, call) {
  read <- lapply(records, function(record) record_value(id, record, trust, call))
  column <- function(field, kind) vapply(records, function(record) record[[field]], kind)
  history <- data.frame(
    sequence = column("sequence", 0), time = as.POSIXct(column("time", 0), origin = "1970-01-01", tz = "UTC"), changes = column("changes", 0),
    kind = vapply(read, function(one) if (is.null(one$missing)) "value" else one$missing, ""),
    words = vapply(read, function(one) if (is.null(one$reason)) NA_character_ else one$reason, ""),
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
