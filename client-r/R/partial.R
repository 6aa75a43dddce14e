# Records of watched variables and their values. The values come from a machine that the user does not know, so they are read like
# a result (stream.R).

integer_text <- function(n) format(n, scientific = FALSE, trim = TRUE)

check_variable_name <- function(value, name, call) check_string(value, name, variable_name_bytes_max, call)

partial_path <- function(id, variable) {
  # Without repeated, a name that contains %24 would be taken as already encoded.
  paste0("/job/", id, "/partialResults/", utils::URLencode(variable, reserved = TRUE, repeated = TRUE))
}

# Calls `request` with the name of the variable as given to addJob(): "loss" also finds "loss every 5". When the variable is not
# found, the error says whether it is not watched or has no value.
with_watched_name <- function(id, variable, call, request) {
  tryCatch(request(variable), remotist_not_found = function(e) {
    job <- fetch_job(id, call)
    watched_name <- find_watched_name(variable, job$partialResultsVars)
    if (is.null(watched_name)) abort_not_watched(job, variable, call)
    if (watched_name == variable) abort_no_value(job, variable, conditionMessage(e), call)
    tryCatch(request(watched_name), remotist_not_found = function(e) abort_no_value(job, variable, conditionMessage(e), call))
  })
}

find_watched_name <- function(variable, watched) {
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
    i = if (length(watched)) "It watches {.var {watched}}." else "It watches no variables. Name them when you submit a job: {.code addJob(partialResultsVars = )}."
  ), job = id, call = call)
}

abort_no_value <- function(job, variable, why, call) {
  id <- job$id
  variable <- clean_text(variable)
  advice <- if (grepl("from that time", why, fixed = TRUE)) {
    "{.fn loadPartialResultHistory} shows its values with their times."
  } else if (has_ended(job)) {
    "The script did not assign it. {.code jobLog(\"{id}\")} shows its log."
  } else {
    "{.code watchVar(\"{id}\", \"{variable}\", f)} calls {.code f} as soon as it has a value."
  }
  abort_remotist("no_value", c(
    if (grepl("from that time", why, fixed = TRUE)) "{.var {variable}} had no value at that time." else "{.var {variable}} has no value.",
    x = "The state of job {.val {id}} is {.val {job$state}}.", i = advice
  ), job = id, state = job$state, call = call)
}

# A time as the market parses it. With microseconds, so that a time of a record selects the same record again.
time_parameter <- function(time) {
  micros <- round(as.numeric(time) * 1e6)
  whole <- floor(micros / 1e6)
  paste0(format(.POSIXct(whole, "UTC"), "%Y-%m-%dT%H:%M:%S"), sprintf(".%06dZ", as.integer(micros - whole * 1e6)))
}

check_time <- function(value, name, call) {
  if (!inherits(value, "POSIXt") || length(value) != 1L || is.na(value)) {
    abort_argument(name, "must be a time", value, "For example {.code Sys.time() - 60}.", call = call)
  }
  time_parameter(as.POSIXct(value))
}

# One end of a range as a query parameter, or NULL.
check_range_end <- function(value, name, call) {
  if (is.null(value)) return(NULL)
  if (inherits(value, "POSIXt")) return(check_time(value, name, call))
  valid <- is.numeric(value) && !is.object(value) && length(value) == 1L && is.finite(value) && value == trunc(value) && value >= 0
  if (!valid) abort_argument(name, "must be a time or the sequence number of a record", value, call = call)
  integer_text(value)
}

# A record of the market's response; its value stays serialised until record_value() reads it.
new_record <- function(body, variable, call) {
  valid <- is.list(body) && is.numeric(body$sequence) && is_string(body$kind) && is_string(body$at)
  if (!valid) abort_damaged(list(path = variable), "a record of it has no sequence number, kind or time", call)
  file <- list(path = variable, size = body$size, base64 = body$base64, chunks = body$chunks)
  if (body$kind == "value" && !is_file(file)) abort_damaged(file, "a record of it has no size", call)
  list(
    sequence = as.numeric(body$sequence), time = time_of(body$at), changes = if (is.numeric(body$changes)) as.numeric(body$changes) else 0,
    kind = body$kind, size = if (is.numeric(body$size)) as.numeric(body$size) else 0,
    reason = if (is_string(body$words)) clean_text(body$words) else NA_character_,
    thinned = isTRUE(body$thinned), superseded = isTRUE(body$superseded),
    file = file
  )
}

is_inline <- function(record) is.null(record$file$chunks)

# A list of `value`; or of `missing` ("removed", "problem" or "left_out") and `reason`, a text.
record_value <- function(id, record, trust, call) {
  if (record$kind == "removed") return(list(missing = "removed", reason = "it was removed"))
  if (record$kind != "value") {
    reason <- if (is.na(record$reason)) "it cannot be recorded" else record$reason
    return(list(missing = "problem", reason = reason))
  }
  read <- value_of(record_bytes(id, record, call), trust, record$file$path, call)
  if (is.null(read$omitted)) return(read)
  list(missing = "left_out", reason = paste0("it is or contains ", read$omitted))
}

record_bytes <- function(id, record, call) {
  if (is.raw(record$bytes)) record$bytes else file_bytes(id, record$file, loaded_bytes_max, call)
}

value_of <- function(bytes, trust, variable, call) {
  unreadable <- function(e) {
    variable <- clean_text(variable)
    why <- sentence(conditionMessage(e))
    abort_remotist("damaged", c(
      "A value of {.var {variable}} cannot be read.",
      x = "{why}",
      i = "The machine that runs the job may be faulty or dishonest: cancel the job with {.fn cancelJob} and submit it again."
    ), call = call)
  }
  if (trust) return(tryCatch(list(value = unserialize(bytes)), error = unreadable))
  tryCatch(read_value(bytes), remotist_stream = unreadable)
}

# Calls `on_record` with each record of a range, oldest first, page by page. Each page begins after the last record of the previous
# one: numbered pages would shift when the market thins a growing history.
each_record <- function(id, variable, from, to, on_record, call, retry = without_retry) {
  repeat {
    page <- retry(function() history_page(id, variable, list(from = from, to = to, per_page = page_rows_max), call))
    for (record in page$records) on_record(record)
    if (!page$more || !length(page$records)) return(invisible())
    from <- integer_text(page$records[[length(page$records)]]$sequence + 1)
  }
}

# A page may take several requests: the market ends a large response early and returns the sequence to continue with.
history_page <- function(id, variable, query, call) {
  rows <- query$per_page
  records <- list()
  repeat {
    path <- paste0(partial_path(id, variable), "/history")
    body <- parse_body(send_request("GET", path, query = query[!vapply(query, is.null, NA)], call = call), call)
    records <- c(records, lapply(body$history, new_record, variable, call))
    next_sequence <- body[["next"]]
    if (!is.numeric(next_sequence) || !length(body$history) || length(records) >= rows) break
    query$from <- integer_text(next_sequence)
    query$page <- NULL
    query$per_page <- rows - length(records)
  }
  list(records = records, more = isTRUE(body$more))
}

# The newest record, or that of a time. The last response is cached with its ETag, so that an unchanged value is not sent again.
cached_bytes_max <- 64 * 2^20

newest_record <- function(id, variable, at, call) {
  key <- c(id, variable, at)
  cached <- if (identical(r_session$partial$key, key)) r_session$partial
  headers <- if (is_string(cached$tag)) list(`If-None-Match` = cached$tag) else list()
  query <- if (is.null(at)) list() else list(at = at)
  response <- send_request("GET", partial_path(id, variable), query = query, headers = headers, call = call)
  if (httr2::resp_status(response) == 304L && !is.null(cached)) return(cached$record)
  record <- new_record(parse_body(response, call), variable, call)
  r_session$partial <- NULL
  if (record$kind == "value") record$bytes <- record_bytes(id, record, call)
  if (record$size <= cached_bytes_max) r_session$partial <- list(key = key, tag = httr2::resp_header(response, "ETag"), record = record)
  record
}

# The name of the variable to assign, or NULL.
check_target <- function(name, envir, call) {
  if (!is.environment(envir)) abort_argument("envir", "must be an environment", envir, call = call)
  if (!is.null(name)) check_string(name, "loadToVar", r_name_bytes_max, call)
}

assign_value <- function(name, value, envir, call) {
  why <- try_assign(name, value, envir)
  if (is.null(why)) return(invisible())
  name <- clean_text(name)
  abort_remotist("not_set", c("{.var {name}} cannot be assigned: it or its environment is locked.", i = "Use another {.arg loadToVar} or {.arg envir}."), call = call)
}
