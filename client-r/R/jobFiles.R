# The files of a job at the market, by role: code, data, output, files, log and error. Their bytes come inline or in chunks.

# All files with a role. The market ends a large page early and returns the path to continue with.
list_files <- function(id, role, call) {
  files <- list()
  query <- list(page = 1, per_page = page_rows_max)
  for (i in seq_len(page_number_max)) {
    body <- parse_body(send_request("GET", paste0("/job/", id, "/", role), query = query, call = call), call)
    files <- c(files, Filter(is_file, body$files))
    if (!isTRUE(body$more)) return(files)
    if (length(files) > job_files_max) break
    following <- body[["next"]]
    query$page <- if (is_string(following)) 1 else query$page + 1
    if (is_string(following)) query$from <- following
  }
  abort_remotist("damaged", c("The market lists more files than a job can have.", i = "Report this to the operator of the market."), call = call)
}

is_file <- function(file) {
  is.list(file) && is_string(file$path) && is.numeric(file$size) && length(file$size) == 1L && isTRUE(file$size >= 0)
}

# Calls `on_bytes` with the bytes of a file, chunk by chunk, after checking each. Returns their number.
read_file <- function(id, file, on_bytes, call) {
  size <- 0
  add <- function(bytes) {
    size <<- size + length(bytes)
    if (size > file$size) abort_damaged(file, "it is longer than the size that the market lists", call)
    on_bytes(bytes)
  }
  if (is_string(file$text)) {
    add(charToRaw(enc2utf8(file$text)))
  } else if (is_string(file$base64)) {
    add(jsonlite::base64_dec(file$base64))
  } else {
    for (name in unlist(file$chunks)) add(fetch_chunk(id, name, file, call))
  }
  if (size != file$size) abort_damaged(file, "it is shorter than the size that the market lists", call)
  size
}

fetch_chunk <- function(id, name, file, call) {
  if (!is_string(name) || !grepl("^[0-9a-f]{64}$", name)) abort_damaged(file, "the name of a chunk is not a SHA-256", call)
  bytes <- httr2::resp_body_raw(send_request("GET", paste0("/blob/", name), query = list(job = id), max_tries = 6L, call = call))
  if (length(bytes) > chunk_bytes_max || sha256(bytes) != name) abort_damaged(file, "the SHA-256 of a chunk is not its name", call)
  bytes
}

abort_damaged <- function(file, why, call) {
  path <- clean_text(file$path)
  why <- sentence(why)
  abort_remotist("damaged", c(
    "{.file {path}} was received incomplete or altered.",
    x = "{why}",
    i = "Try again. If the error persists, the file is damaged at the market: report it to its operator."
  ), call = call)
}

# The most bytes of one file that are loaded into memory, and of a file that is read as text.
loaded_bytes_max <- 2^31 - 1
text_bytes_max <- 64 * 2^20

# The bytes of a whole file.
file_bytes <- function(id, file, bytes_max, call) {
  if (file$size > bytes_max) {
    path <- clean_text(file$path)
    has <- bytes_text(file$size)
    limit <- bytes_text(bytes_max)
    abort_remotist("too_large", c(
      "{.file {path}} has {has}, more than the maximum of {limit} that can be loaded.",
      i = "Let the script write large results to files with {.fn saveRDS}, and download them with {.fn downloadJob}."
    ), call = call)
  }
  parts <- list()
  read_file(id, file, function(bytes) parts[[length(parts) + 1L]] <<- bytes, call)
  if (length(parts)) do.call(c, parts) else raw()
}

file_text <- function(id, file, call) {
  bytes <- file_bytes(id, file, text_bytes_max, call)
  text <- rawToChar(bytes[bytes != as.raw(0L)])
  Encoding(text) <- "UTF-8"
  if (validUTF8(text)) text else iconv(text, "UTF-8", "UTF-8", sub = "byte")
}

find_file <- function(files, path) {
  for (file in files) if (identical(file$path, path)) return(file)
  NULL
}
