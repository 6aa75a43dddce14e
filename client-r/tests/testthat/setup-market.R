# A made-up market: answers by method and path, and a list of what was asked.

job_id <- "01940000-0000-7000-8000-000000000001"
machine_id <- "01940000-0000-7000-8000-000000000002"

logged_in <- function(env = parent.frame()) {
  session_start("http://market.test", "remotist_session_secret", "2099-01-01T00:00:00.000Z", "ada@example.org")
  cleanup(session_end(), env)
}

logged_out <- function(env = parent.frame()) {
  session_end()
  cleanup(session_end(), env)
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

# routes: functions or responses named "METHOD /path"; `asked` collects every request.
market <- function(routes) {
  asked <- new.env()
  asked$requests <- list()
  mock <- function(req) {
    path <- sub("^https?://[^/]*", "", sub("\\?.*$", "", req$url))
    key <- paste(req$method, path)
    asked$requests[[length(asked$requests) + 1L]] <- list(key = key, url = req$url, body = req$body$data, headers = req$headers)
    found <- routes[[key]]
    if (is.null(found)) return(problem("not_found", 404L, "There is no such thing", "there is nothing at this path"))
    if (is.function(found)) found(req) else found
  }
  list(mock = mock, asked = function() vapply(asked$requests, function(one) one$key, ""), requests = function() asked$requests)
}

with_market <- function(routes, code) httr2::with_mocked_responses(market(routes)$mock, code)

sent_json <- function(request) jsonlite::fromJSON(rawToChar(request$body), simplifyVector = FALSE)

a_job <- function(...) {
  told <- list(
    id = job_id, account = machine_id, name = "a mean", exec_file = "main.R", state = "queued", cpu = 1, ram = 1024, disc = 1024,
    price = 1, partial_results_vars = list(), attempt = 0, created_at = "2026-02-01T10:00:00.000Z", deadline = NULL,
    submitted_at = NULL, ended_at = NULL, failure_code = NULL, failure_detail = NULL, progress = NULL, progress_message = NULL
  )
  utils::modifyList(told, list(...))
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
