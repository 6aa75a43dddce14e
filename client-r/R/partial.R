# Records of watched variables: what the market tells of a variable's changes, and the values in them. A machine of somebody
# unknown wrote the values, so that they are read like a result (stream.R).

history_rows <- 200L

whole_text <- function(n) format(n, scientific = FALSE, trim = TRUE)

check_variable <- function(value, name, call) check_string(value, name, 1000, call)

partial_path <- function(id, variable) {
  # Without repeated, a name with something like %24 in it would be taken for one that is encoded.
  paste0("/job/", id, "/partialResults/", utils::URLencode(variable, reserved = TRUE, repeated = TRUE))
}

# `use` with the variable's name as the job has it: "loss" finds "loss every 5", too. Who asks for what is not there is told why.
with_watched <- function(id, variable, call, use) {
  tryCatch(use(variable), remotist_not_found = function(e) {
    job <- look(id, call)$job
    named <- watched_as(variable, job$partialResultsVars)
    if (is.null(named)) abort_not_watched(job, variable, call)
    if (named == variable) abort_no_value(job, variable, conditionMessage(e), call)
    tryCatch(use(named), remotist_not_found = function(e) abort_no_value(job, variable, conditionMessage(e), call))
  })
}

watched_as <- function(variable, watched) {
  if (variable %in% watched) return(variable)
  found <- watched[sub(" (every|by) [^ ]+$", "", watched) == variable]
  if (length(found) == 1L) found
}

abort_not_watched <- function(job, variable, call) {
  id <- job$id
  variable <- clean_text(variable)
  watched <- clean_text(job$partialResultsVars)
  abort_remotist("not_watched", c(
    "Job {.val {id}} does not watch {.var {variable}}.",
    i = if (length(watched)) "It watches {.var {watched}}." else "It watches no variable: name some in {.code addJob(partialResultsVars = )}."
  ), job = id, call = call)
}

abort_no_value <- function(job, variable, why, call) {
  id <- job$id
  variable <- clean_text(variable)
  advice <- if (grepl("from that time", why, fixed = TRUE)) {
    "{.fn loadPartialResultHistory} shows when it had which."
  } else if (has_ended(job)) {
    "The script never gave it one: {.code jobLog(\"{id}\")} shows what it printed."
  } else {
    "Wait for it: {.code watchVar(\"{id}\", \"{variable}\", f)} calls {.code f} as soon as it has one."
  }
  abort_remotist("no_value", c(
    if (grepl("from that time", why, fixed = TRUE)) "{.var {variable}} had no value at that time." else "{.var {variable}} has no value.",
    x = "Job {.val {id}} is {job$state}.", i = advice
  ), job = id, state = job$state, call = call)
}

# A time as the market reads it. Microseconds: a time that came from it must name the same moment again.
moment_text <- function(time) {
  micros <- round(as.numeric(time) * 1e6)
  whole <- floor(micros / 1e6)
  paste0(format(.POSIXct(whole, "UTC"), "%Y-%m-%dT%H:%M:%S"), sprintf(".%06dZ", as.integer(micros - whole * 1e6)))
}

check_time <- function(value, name, call) {
  if (!inherits(value, "POSIXt") || length(value) != 1L || is.na(value)) {
    abort_argument(name, "must be a time", value, "For example {.code Sys.time() - 60}.", call = call)
  }
  moment_text(as.POSIXct(value))
}

# One end of a range: the text that the market takes, or NULL.
check_end <- function(value, name, call) {
  if (is.null(value)) return(NULL)
  if (inherits(value, "POSIXt")) return(check_time(value, name, call))
  right <- is.numeric(value) && !is.object(value) && length(value) == 1L && is.finite(value) && value == trunc(value) && value >= 0
  if (!right) abort_argument(name, "must be a time or a record's sequence number", value, call = call)
  whole_text(value)
}

# A record as it is used here; its value stays packed until it is wanted.
new_record <- function(told, variable, call) {
  right <- is.list(told) && is.numeric(told$sequence) && is_string(told$kind) && is_string(told$at)
  if (!right) abort_damaged(list(path = variable), "a record of it has no number, kind or time", call)
  file <- list(path = variable, size = told$size, base64 = told$base64, chunks = told$chunks)
  if (told$kind == "value" && !is_file(file)) abort_damaged(file, "a record of it has no size", call)
  list(
    sequence = as.numeric(told$sequence), time = time_of(told$at), changes = if (is.numeric(told$changes)) as.numeric(told$changes) else 0,
    kind = told$kind, size = if (is.numeric(told$size)) as.numeric(told$size) else 0,
    words = if (is_string(told$words)) clean_text(told$words) else NA_character_,
    thinned = isTRUE(told$thinned), superseded = isTRUE(told$superseded),
    file = file
  )
}

is_inline <- function(record) is.null(record$file$chunks)

# A list of `value`; or of `missing` ("removed", "problem" or "left_out") and `words` for people.
record_value <- function(id, record, trust, call) {
  if (record$kind == "removed") return(list(missing = "removed", words = "it was removed"))
  if (record$kind != "value") {
    words <- if (is.na(record$words)) "it cannot be shown" else record$words
    return(list(missing = "problem", words = words))
  }
  read <- value_of(record_bytes(id, record, call), trust, record$file$path, call)
  if (is.null(read$left_out)) return(read)
  list(missing = "left_out", words = paste0("it is or holds ", read$left_out))
}

record_bytes <- function(id, record, call) {
  if (is.raw(record$bytes)) record$bytes else file_bytes(id, record$file, 2^31 - 1, call)
}

value_of <- function(bytes, trust, variable, call) {
  unreadable <- function(e) {
    variable <- clean_text(variable)
    why <- sentence(conditionMessage(e))
    abort_remotist("damaged", c(
      "A value of {.var {variable}} cannot be read.",
      x = "{why}",
      i = "Whoever runs the job may cheat: end it with {.fn cancelJob}, and send it again."
    ), call = call)
  }
  if (trust) return(tryCatch(list(value = unserialize(bytes)), error = unreadable))
  tryCatch(read_value(bytes), remotist_stream = unreadable)
}

# Gives each record in a range to `give`, oldest first, as the pages come. Each page begins after the last record of the one
# before it: numbered pages would shift when the market thins a history that grows.
each_record <- function(id, variable, from, to, give, call, persist = at_once) {
  repeat {
    page <- persist(function() history_page(id, variable, list(from = from, to = to, per_page = history_rows), call))
    for (record in page$records) give(record)
    if (!page$more || !length(page$records)) return(invisible())
    from <- whole_text(page$records[[length(page$records)]]$sequence + 1)
  }
}

# A page may come in parts: the market ends an answer that has become large, and says with which sequence it goes on.
history_page <- function(id, variable, query, call) {
  rows <- query$per_page
  records <- list()
  repeat {
    path <- paste0(partial_path(id, variable), "/history")
    told <- answer(ask("GET", path, query = query[!vapply(query, is.null, NA)], call = call), call)
    records <- c(records, lapply(told$history, new_record, variable, call))
    following <- told[["next"]]
    if (!is.numeric(following) || !length(told$history) || length(records) >= rows) break
    query$from <- whole_text(following)
    query$page <- NULL
    query$per_page <- rows - length(records)
  }
  list(records = records, more = isTRUE(told$more))
}

# The newest record, or that of a time. The last answer is kept: while it is still the same, nothing comes a second time.
kept_bytes_most <- 64 * 2^20

newest_record <- function(id, variable, at, call) {
  key <- c(id, variable, at)
  kept <- if (identical(session$partial$key, key)) session$partial
  headers <- if (is_string(kept$tag)) list(`If-None-Match` = kept$tag) else list()
  query <- if (is.null(at)) list() else list(at = at)
  response <- ask("GET", partial_path(id, variable), query = query, headers = headers, call = call)
  if (httr2::resp_status(response) == 304L && !is.null(kept)) return(kept$record)
  record <- new_record(answer(response, call), variable, call)
  session$partial <- NULL
  if (record$kind == "value") record$bytes <- record_bytes(id, record, call)
  if (record$size <= kept_bytes_most) session$partial <- list(key = key, tag = httr2::resp_header(response, "ETag"), record = record)
  record
}

# The name of the variable that is to be made, or NULL.
check_target <- function(name, envir, call) {
  if (!is.environment(envir)) abort_argument("envir", "must be an environment", envir, call = call)
  if (!is.null(name)) check_string(name, "loadToVar", 10000, call)
}

place_value <- function(name, value, envir, call) {
  why <- put_variable(name, value, envir)
  if (is.null(why)) return(invisible())
  name <- clean_text(name)
  abort_remotist("not_set", c("{.var {name}} cannot be set there.", i = "It is locked: use another {.arg loadToVar} or {.arg envir}."), call = call)
}
