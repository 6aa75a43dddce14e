# The attempts of a job and its checkpoints as the market describes them. Every field is optional, because markets differ in age and
# may be wrong: a value that is absent, or not of its type, becomes NA.

# The most pages of one list; a job has far fewer attempts.
history_pages_max <- 500L

read_attempts <- function(id, call) new_attempts(read_rows(id, "attempts", "attempts", call))

read_checkpoints <- function(id, call) new_checkpoints(read_rows(id, "checkpoint", "checkpoints", call))

# All rows of a list that the market returns in pages.
read_rows <- function(id, path, field, call) {
  pages <- list()
  for (page in seq_len(history_pages_max)) {
    query <- list(page = page, per_page = page_rows_max)
    response <- send_request("GET", paste0("/job/", id, "/", path), query = query, call = call)
    body <- parse_body(response, call)
    rows <- body[[field]]
    if (!is.list(rows)) abort_not_market(response, call)
    pages[[page]] <- Filter(is.list, rows)
    if (!isTRUE(body[["more"]])) return(do.call(c, pages))
    if (!length(rows)) break
  }
  abort_remotist("damaged", c(
    "The market's list of the job's {field} does not end.",
    i = "Report this to the operator of the market."
  ), call = call)
}

number_in <- function(row, field) {
  value <- row[[field]]
  if (is.numeric(value) && length(value) == 1L && isTRUE(value >= 0 && value <= 2^53)) as.numeric(value) else NA_real_
}

text_in <- function(row, field) if (is_string(row[[field]]) && nzchar(row[[field]])) short_text(row[[field]]) else NA_character_

numbers_in <- function(rows, field, per_unit = 1) vapply(rows, number_in, 0, field) / per_unit

texts_in <- function(rows, field) vapply(rows, text_in, "", field)

times_in <- function(rows, field) as.POSIXct(vapply(rows, function(row) as.numeric(time_of(row[[field]])), 0), origin = "1970-01-01", tz = "UTC")

# One row for each number, ascending. Attempts that begin while the pages are read move others to the next page, so a row may come twice.
by_number <- function(rows, field) {
  numbers <- numbers_in(rows, field)
  keep <- !is.na(numbers) & numbers >= 1 & numbers == trunc(numbers) & !duplicated(numbers)
  rows[keep][order(numbers[keep])]
}

new_attempts <- function(rows) {
  rows <- by_number(rows, "number")
  data.frame(
    number = numbers_in(rows, "number"), machine = texts_in(rows, "machine"), machine_name = texts_in(rows, "machine_name"),
    assigned_at = times_in(rows, "assigned_at"), accepted_at = times_in(rows, "accepted_at"), ended_at = times_in(rows, "ended_at"),
    outcome = texts_in(rows, "outcome"), cpu_seconds = numbers_in(rows, "cpu_ms", 1e3), paid = numbers_in(rows, "paid_micro", 1e6),
    saved_seconds = numbers_in(rows, "saved_cpu_ms", 1e3), checkpoints = numbers_in(rows, "checkpoints"),
    resumed_from = numbers_in(rows, "resumed_from"), skipped = vapply(rows, skipped_text, "")
  )
}

# The market keeps few checkpoints of a job, so few can be skipped.
skipped_max <- 10L

# The checkpoints that could not be used, with their reasons, in one text.
skipped_text <- function(row) {
  skipped <- row[["skipped"]]
  skipped <- if (is.list(skipped)) utils::head(Filter(is.list, skipped), skipped_max)
  texts <- vapply(skipped, function(one) {
    reason <- text_in(one, "reason")
    paste0("checkpoint ", count_text(number_in(one, "sequence")), if (!is.na(reason)) paste0(": ", reason))
  }, "")
  paste(texts, collapse = "; ")
}

new_checkpoints <- function(rows) {
  rows <- by_number(rows, "sequence")
  places <- lapply(rows, function(row) if (is.list(row[["position"]])) row[["position"]])
  usable <- vapply(rows, function(row) if (is.logical(row[["usable"]]) && length(row[["usable"]]) == 1L) row[["usable"]] else NA, NA)
  checkpoints <- data.frame(
    sequence = numbers_in(rows, "sequence"), attempt = numbers_in(rows, "attempt"), time = times_in(rows, "at"),
    size = numbers_in(rows, "size_bytes"), sent = numbers_in(rows, "sent_bytes"), pause_seconds = numbers_in(rows, "pause_ms", 1e3),
    file = texts_in(places, "file"), line = numbers_in(places, "line"), call = texts_in(places, "call"),
    cpu_seconds = numbers_in(rows, "cpu_ms", 1e3), r_version = texts_in(rows, "r_version"), architecture = texts_in(rows, "architecture"),
    usable = usable, why = texts_in(rows, "why")
  )
  checkpoints$packages <- lapply(rows, function(row) short_text(Filter(is_string, row[["packages"]])))
  checkpoints
}

# For each element of a column, or "" where it is NA.
each_text <- function(values, text) vapply(seq_along(values), function(i) if (is.na(values[[i]])) "" else text(values[[i]]), "")

brief_time_text <- function(times) ifelse(is.na(times), "", format(times, "%m-%d %H:%M:%S", tz = ""))

# The second of two times, without its date when that is the date of the first one.
later_time_text <- function(times, before) {
  same_day <- !is.na(times) & !is.na(before) & format(times, "%F", tz = "") == format(before, "%F", tz = "")
  ifelse(is.na(times), "", format(times, ifelse(same_day, "%H:%M:%S", "%m-%d %H:%M:%S"), tz = ""))
}

# A machine is shown by its name to its owner; else by the end of its id, because the beginnings of ids that were made at about the
# same time are equal.
machine_text <- function(attempts) {
  text <- ifelse(is.na(attempts$machine_name), sub("^.*(.{8})$", "\\1", attempts$machine), substr(attempts$machine_name, 1L, 12L))
  ifelse(is.na(text), "", text)
}

outcome_text <- function(attempts) ifelse(!is.na(attempts$outcome), attempts$outcome, ifelse(is.na(attempts$accepted_at), "assigned", "running"))

position_text <- function(checkpoints) {
  place <- ifelse(is.na(checkpoints$line), checkpoints$file, paste0(checkpoints$file, ":", integer_text(checkpoints$line)))
  call <- ifelse(is.na(checkpoints$call), "", paste0(", ", sub("\\(\\)$", "", checkpoints$call), "()"))
  ifelse(is.na(checkpoints$file), "", paste0(place, call))
}

# Prints the newest of the attempts, at most `rows_max`.
print_attempts <- function(attempts, rows_max) {
  hidden <- max(0L, nrow(attempts) - rows_max)
  cat("  attempts", if (hidden) paste0(" (", count_text(hidden), " earlier not shown)"), "\n", sep = "")
  shown <- utils::tail(attempts, rows_max)
  print_columns(list(
    `#` = integer_text(shown$number), machine = machine_text(shown), from = brief_time_text(shown$assigned_at),
    to = later_time_text(shown$ended_at, shown$assigned_at), outcome = substr(outcome_text(shown), 1L, 12L),
    resumed = each_text(shown$resumed_from, function(n) if (n > 0) paste("from", integer_text(n)) else ""),
    paid = each_text(shown$paid, function(paid) sub(" .*", "", credits_text(paid))), saved = each_text(shown$saved_seconds, duration_text)
  ))
  restarted <- !is.na(shown$resumed_from) & shown$resumed_from == 0
  for (i in which(nzchar(shown$skipped) | restarted)) {
    what <- paste(c(if (nzchar(shown$skipped[[i]])) paste("skipped", shown$skipped[[i]]), if (restarted[[i]]) "started from the beginning"), collapse = "; ")
    cat("    attempt ", integer_text(shown$number[[i]]), " ", what, "\n", sep = "")
  }
}

# Prints the newest of the checkpoints, at most `rows_max`.
print_checkpoints <- function(checkpoints, rows_max) {
  hidden <- max(0L, nrow(checkpoints) - rows_max)
  cat("  checkpoints", if (hidden) paste0(" (", count_text(hidden), " earlier not shown)"), "\n", sep = "")
  shown <- utils::tail(checkpoints, rows_max)
  print_columns(list(
    `#` = integer_text(shown$sequence), attempt = each_text(shown$attempt, integer_text), when = brief_time_text(shown$time),
    size = each_text(shown$size, bytes_text), sent = each_text(shown$sent, bytes_text),
    pause = each_text(shown$pause_seconds, duration_text), position = substr(position_text(shown), 1L, 30L)
  ))
  for (i in which(!shown$usable)) {
    cat("    checkpoint ", integer_text(shown$sequence[[i]]), " is not used", if (!is.na(shown$why[[i]])) paste0(": ", shown$why[[i]]), "\n", sep = "")
  }
}
