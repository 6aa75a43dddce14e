# Requests to the market.

# method: one of HTTP's. path: begins with a slash. body: a list (sent as JSON) or raw bytes.
# again: whether the same request may be sent twice without harm, so that a lost connection is tried again.
# patience: how many tries.
ask <- function(method, path, body = NULL, query = list(), headers = list(), token = TRUE, again = method == "GET",
                patience = 4L, timeout = 60, url = NULL, call = parent.frame()) {
  if (is.null(url)) url <- address(call)
  request <- httr2::request(paste0(url, path))
  request <- httr2::req_method(request, method)
  request <- httr2::req_user_agent(request, paste0("remotist-r/", utils::packageVersion("remotist")))
  if (length(query)) request <- httr2::req_url_query(request, !!!query)
  if (length(headers)) request <- httr2::req_headers(request, !!!headers)
  if (is.raw(body)) {
    request <- httr2::req_body_raw(request, body, "application/octet-stream")
  } else if (!is.null(body)) {
    request <- httr2::req_body_raw(request, charToRaw(json_of(body)), "application/json")
  }
  if (token) request <- httr2::req_auth_bearer_token(request, session_token(call))
  # A redirect would carry the token to another place.
  request <- httr2::req_options(request, followlocation = FALSE)
  authority <- authority_file(call)
  if (!is.null(authority)) request <- httr2::req_options(request, cainfo = authority)
  request <- httr2::req_timeout(request, timeout)
  request <- httr2::req_error(request, is_error = function(response) FALSE)
  request <- httr2::req_retry(request,
    max_tries = patience,
    retry_on_failure = again,
    is_transient = function(response) again && is_transient(response),
    backoff = function(tries) min(0.25 * 2^(tries - 1), 8)
  )
  # A wait between tries is short, and httr2 would tell of each.
  before <- options(httr2_progress = FALSE)
  on.exit(options(before))
  response <- tryCatch(
    suppressMessages(httr2::req_perform(request)),
    httr2_failure = function(failure) abort_unreachable(failure, url, call)
  )
  # 304: nothing new, to who asked for that only.
  if (httr2::resp_status(response) >= 300 && httr2::resp_status(response) != 304L) abort_problem(response, call)
  response
}

# The codes that docs/errors.md marks with retry, and what a proxy says when the market ended over a request: that may or
# may not have been done, but may be done twice. A wait of minutes is left to the user.
is_transient <- function(response) {
  if (!httr2::resp_status(response) %in% c(408L, 429L, 502L, 503L, 504L)) return(FALSE)
  wait <- suppressWarnings(as.numeric(httr2::resp_header(response, "Retry-After", "0")))
  !is.na(wait) && wait <= 10
}

# NULL stays out; a single value is no array, unless it is marked with I().
json_of <- function(body) {
  body <- body[!vapply(body, is.null, NA)]
  if (!length(body)) return("{}")
  jsonlite::toJSON(body, auto_unbox = TRUE, digits = NA, null = "null")
}

# JSON as lists, with nothing simplified; NULL when it is not JSON. Only ever the text itself: jsonlite::fromJSON() opens a
# text that is a path or an address.
parse_text <- function(text) {
  if (!is_string(text)) return(NULL)
  # Whatever the locale says.
  Encoding(text) <- "UTF-8"
  if (!validUTF8(text)) return(NULL)
  tryCatch(jsonlite::parse_json(text, simplifyVector = FALSE), error = function(e) NULL)
}

response_text <- function(response) {
  tryCatch(rawToChar(httr2::resp_body_raw(response)), error = function(e) NULL)
}

# The answer's JSON.
answer <- function(response, call = parent.frame()) {
  # Outside of what is caught: a refusal must not be taken for an answer that cannot be read.
  force(response)
  document <- parse_text(response_text(response))
  if (!is.list(document)) abort_stranger(response, call)
  document
}

new_key <- function() paste(as.character(openssl::rand_bytes(16)), collapse = "")
