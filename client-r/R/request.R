# Requests to the market.

# method: an HTTP method. path: begins with a slash. body: a list (sent as JSON) or raw bytes. token: whether to send the login
# token. idempotent: whether the request may be executed twice, so that it is sent again after a transient failure, max_tries
# times in all.
send_request <- function(method, path, body = NULL, query = list(), headers = list(), token = TRUE, idempotent = method == "GET",
                         max_tries = 4L, timeout = 60, url = NULL, call = parent.frame()) {
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
  if (token) request <- httr2::req_auth_bearer_token(request, login_token(call))
  # A redirect would send the token to another server.
  request <- httr2::req_options(request, followlocation = FALSE)
  authority <- authority_file(call)
  if (!is.null(authority)) request <- httr2::req_options(request, cainfo = authority)
  request <- httr2::req_timeout(request, timeout)
  request <- httr2::req_error(request, is_error = function(response) FALSE)
  request <- httr2::req_retry(request,
    max_tries = max_tries,
    retry_on_failure = idempotent,
    is_transient = function(response) idempotent && is_transient(response),
    backoff = function(tries) min(0.25 * 2^(tries - 1), 8)
  )
  # The waits between tries are short; without this httr2 shows a progress bar for each.
  before <- options(httr2_progress = FALSE)
  on.exit(options(before))
  response <- tryCatch(
    suppressMessages(httr2::req_perform(request)),
    httr2_failure = function(failure) abort_unreachable(failure, url, call)
  )
  # 304 (not modified) is the response to a conditional request.
  if (httr2::resp_status(response) >= 300 && httr2::resp_status(response) != 304L) abort_problem(response, call)
  response
}

# The statuses that docs/errors.md marks as retryable, and those of a proxy whose market ended during a request. A wait of more than
# ten seconds is left to the user.
is_transient <- function(response) {
  if (!httr2::resp_status(response) %in% c(408L, 429L, 502L, 503L, 504L)) return(FALSE)
  wait <- suppressWarnings(as.numeric(httr2::resp_header(response, "Retry-After", "0")))
  !is.na(wait) && wait <= 10
}

# NULL fields are omitted; a single value becomes an array only if it is marked with I().
json_of <- function(body) {
  body <- body[!vapply(body, is.null, NA)]
  if (!length(body)) return("{}")
  jsonlite::toJSON(body, auto_unbox = TRUE, digits = NA, null = "null")
}

# JSON as lists, without simplification; NULL when the text is not JSON. Not jsonlite::fromJSON(), which opens a text that is a path
# or a URL.
parse_text <- function(text) {
  if (!is_string(text)) return(NULL)
  # In every locale.
  Encoding(text) <- "UTF-8"
  if (!validUTF8(text)) return(NULL)
  tryCatch(jsonlite::parse_json(text, simplifyVector = FALSE), error = function(e) NULL)
}

response_text <- function(response) {
  tryCatch(rawToChar(httr2::resp_body_raw(response)), error = function(e) NULL)
}

# The JSON of a response.
parse_body <- function(response, call = parent.frame()) {
  # Evaluated here, so that an error of the request is not taken for a response that cannot be parsed.
  force(response)
  document <- parse_text(response_text(response))
  if (!is.list(document)) abort_not_market(response, call)
  document
}

new_key <- function() paste(as.character(openssl::rand_bytes(16)), collapse = "")
