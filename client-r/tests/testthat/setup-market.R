# A mock market: responses by method and path, and a record of the requests.

job_id <- "01940000-0000-7000-8000-000000000001"
machine_id <- "01940000-0000-7000-8000-000000000002"

logged_in <- function(env = parent.frame()) {
  store_login("http://market.test", "remotist_login_secret", "2099-01-01T00:00:00.000Z", "ada@example.org")
  cleanup(forget_login(), env)
}

logged_out <- function(env = parent.frame()) {
  forget_login()
  cleanup(forget_login(), env)
}

# Evaluates `code` when the test that calls ends.
cleanup <- function(code, env) {
  do.call(on.exit, list(substitute(code), add = TRUE), envir = env)
}

json_reply <- function(body, status = 200L) {
  httr2::response(status, headers = list(`Content-Type` = "application/json"), body = charToRaw(as.character(jsonlite::toJSON(body, auto_unbox = TRUE, digits = NA, null = "null"))))
}

nothing <- function() httr2::response(204L)

problem <- function(code, status, title, detail, ...) {
  json_reply(list(type = paste0("urn:remotist:problem:", code), title = title, status = status, detail = detail, code = code, retryable = FALSE, request_id = "019", ...), status)
}

# routes: functions or responses named "METHOD /path"; `received` collects every request.
market <- function(routes) {
  received <- new.env()
  received$requests <- list()
  mock <- function(req) {
    path <- sub("^https?://[^/]*", "", sub("\\?.*$", "", req$url))
    key <- paste(req$method, path)
    received$requests[[length(received$requests) + 1L]] <- list(key = key, url = req$url, body = req$body$data, headers = req$headers)
    found <- routes[[key]]
    if (is.null(found)) return(problem("not_found", 404L, "There is no such thing", "there is nothing at this path"))
    if (is.function(found)) found(req) else found
  }
  list(mock = mock, received = function() vapply(received$requests, function(one) one$key, ""), requests = function() received$requests)
}

with_market <- function(routes, code) httr2::with_mocked_responses(market(routes)$mock, code)

sent_json <- function(request) jsonlite::fromJSON(rawToChar(request$body), simplifyVector = FALSE)

a_job <- function(...) {
  body <- list(
    id = job_id, account = machine_id, name = "a mean", exec_file = "main.R", state = "queued", cpu = 1, ram = 1024, disc = 1024,
    price = 1, partial_results_vars = list(), attempt = 0, created_at = "2026-02-01T10:00:00.000Z", deadline = NULL,
    submitted_at = NULL, ended_at = NULL, failure_code = NULL, failure_detail = NULL, progress = NULL, progress_message = NULL
  )
  utils::modifyList(body, list(...))
}

a_machine <- function(...) {
  utils::modifyList(list(
    id = machine_id, account = job_id, name = "laptop", cpu = 2, ram = 4000, disc = 10000, price = 1, state = "idle",
    created_at = "2026-02-01T10:00:00.000Z", seen_at = NULL
  ), list(...))
}

# A folder with the given files: names are paths, values their text.
a_folder <- function(...) {
  files <- list(...)
  folder <- tempfile("job-")
  for (path in names(files)) {
    dir.create(dirname(file.path(folder, path)), recursive = TRUE, showWarnings = FALSE)
    bytes <- if (is.raw(files[[path]])) files[[path]] else charToRaw(enc2utf8(files[[path]]))
    writeBin(bytes, file.path(folder, path))
  }
  folder
}

file_page <- function(...) json_reply(list(files = list(...), page = 1, per_page = 200, more = FALSE))

# A file of the market's answers, from bytes.
inline_file <- function(path, bytes) list(path = path, size = length(bytes), base64 = jsonlite::base64_enc(bytes))

# What differs from run to run.
without_folders <- function(lines) gsub("('|/)[^ ']*(job-|remotist-test-|Rtmp|down-)[^ '\")]*", "\\1<folder>", lines)

# A record of a watched variable: its value as the runner writes it, or a kind without one.
a_record <- function(sequence, value, ..., kind = "value", seconds = sequence) {
  record <- list(
    variable = "x", sequence = sequence, changes = 1, at = sprintf("2026-02-01T10:00:%06.3fZ", seconds), kind = kind, size = 0,
    thinned = FALSE, superseded = FALSE
  )
  if (kind == "value") {
    bytes <- if (is.raw(value)) value else serialize(value, NULL, xdr = .Platform$endian != "little")
    record <- c(record, list(base64 = jsonlite::base64_enc(bytes)))
    record$size <- length(bytes)
  }
  utils::modifyList(record, list(...))
}

# The market's answers on one variable of these records.
watch_routes <- function(records, variable = "x", state = "completed", watched = variable, fit = Inf) {
  base <- paste0("/job/", job_id, "/partialResults/", utils::URLencode(variable, reserved = TRUE))
  query <- function(req, name) httr2::url_parse(req$url)$query[[name]]
  sequences <- vapply(records, function(one) one$sequence, 0)
  moments <- vapply(records, function(one) one$at, "")
  live <- Filter(function(one) !one$superseded, records)
  newest <- if (length(live)) live[[length(live)]]
  value <- function(req) {
    after <- query(req, "after")
    at <- query(req, "at")
    if (!is.null(at)) {
      had <- records[moments <= sub("000Z$", "Z", at)]
      if (!length(had)) return(problem("not_found", 404L, "There is no such thing", "x has no value from that time"))
      return(json_reply(had[[length(had)]]))
    }
    if (!is.null(newest) && newest$sequence > as.numeric(if (is.null(after)) -1 else after)) {
      reply <- json_reply(newest)
      tag <- sprintf("\"%s\"", sha256(reply$body))
      if (identical(req$headers[["If-None-Match"]], tag)) return(httr2::response(304L))
      reply$headers <- c(reply$headers, list(ETag = tag))
      class(reply$headers) <- "httr2_headers"
      return(reply)
    }
    if (is.null(after)) problem("not_found", 404L, "There is no such thing", "x has no value yet") else nothing()
  }
  history <- function(req) {
    number <- function(name, otherwise) {
      found <- suppressWarnings(as.numeric(query(req, name)))
      if (!length(found) || is.na(found)) otherwise else found
    }
    rows <- number("per_page", 50)
    found <- records[sequences >= number("from", 0) & sequences <= number("to", Inf)]
    page <- number("page", 1)
    places <- seq_along(found)
    list_of <- found[places > (page - 1) * rows & places <= page * rows]
    more <- length(found) > page * rows
    # So many have the bytes of a page.
    following <- if (length(list_of) > fit) list_of[[fit + 1]]$sequence
    if (!is.null(following)) list_of <- list_of[seq_len(fit)]
    json_reply(list(history = list_of, page = page, per_page = rows, more = more || !is.null(following), `next` = following))
  }
  routes <- list()
  routes[[paste("GET", base)]] <- value
  routes[[paste0("GET ", base, "/history")]] <- history
  job <- a_job(state = state)
  job$partial_results_vars <- as.list(watched)
  routes[[paste0("GET /job/", job_id)]] <- json_reply(job)
  routes
}

# Times as they are written in one place of the world.
in_utc <- function(env = parent.frame()) {
  before <- Sys.getenv("TZ", NA)
  Sys.setenv(TZ = "UTC")
  do.call(on.exit, list(bquote(if (is.na(.(before))) Sys.unsetenv("TZ") else Sys.setenv(TZ = .(before))), add = TRUE), envir = env)
}
