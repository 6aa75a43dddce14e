# The files of a job at the market: code, data, output, files, log and error. What is in them comes inline or in chunks.

# Everything that the market lists under a role.
list_files <- function(id, role, call) {
  files <- list()
  for (page in 1:10000) {
    told <- answer(ask("GET", paste0("/job/", id, "/", role), query = list(page = page, per_page = 200), call = call), call)
    files <- c(files, Filter(is_file, told$files))
    if (!isTRUE(told$more)) return(files)
    if (length(files) > files_most) break
  }
  abort_remotist("damaged", c("The market lists more files than a job can have.", i = "Tell whoever runs it."), call = call)
}

is_file <- function(file) {
  is.list(file) && is_string(file$path) && is.numeric(file$size) && length(file$size) == 1L && isTRUE(file$size >= 0)
}

# Gives a file's bytes to `take`, piece by piece, each checked. Returns their number.
read_file <- function(id, file, take, call) {
  size <- 0
  give <- function(bytes) {
    size <<- size + length(bytes)
    if (size > file$size) abort_damaged(file, "it is longer than the market says", call)
    take(bytes)
  }
  if (is_string(file$text)) {
    give(charToRaw(enc2utf8(file$text)))
  } else if (is_string(file$base64)) {
    give(jsonlite::base64_dec(file$base64))
  } else {
    for (name in unlist(file$chunks)) give(fetch_chunk(id, name, file, call))
  }
  if (size != file$size) abort_damaged(file, "it is shorter than the market says", call)
  size
}

fetch_chunk <- function(id, name, file, call) {
  if (!is_string(name) || !grepl("^[0-9a-f]{64}$", name)) abort_damaged(file, "a piece of it has no name", call)
  bytes <- httr2::resp_body_raw(ask("GET", paste0("/blob/", name), query = list(job = id), patience = 6L, call = call))
  if (length(bytes) > chunk_bytes || sha256(bytes) != name) abort_damaged(file, "a piece of it is not what its name says", call)
  bytes
}

abort_damaged <- function(file, why, call) {
  path <- clean_text(file$path)
  why <- sentence(why)
  abort_remotist("damaged", c(
    "{.file {path}} did not arrive whole.",
    x = "{why}",
    i = "Try again. If it stays so, the file is damaged at the market: tell whoever runs it."
  ), call = call)
}

# A whole file in memory.
file_bytes <- function(id, file, most, call) {
  if (file$size > most) {
    path <- clean_text(file$path)
    has <- bytes_text(file$size)
    limit <- bytes_text(most)
    abort_remotist("too_large", c(
      "{.file {path}} has {has}, more than the {limit} that can be loaded.",
      i = "Let the script write large results to files with {.fn saveRDS}, and fetch them with {.fn downloadJob}."
    ), call = call)
  }
  pieces <- list()
  read_file(id, file, function(bytes) pieces[[length(pieces) + 1L]] <<- bytes, call)
  if (length(pieces)) do.call(c, pieces) else raw()
}

file_text <- function(id, file, call) {
  bytes <- file_bytes(id, file, 64 * 2^20, call)
  text <- rawToChar(bytes[bytes != as.raw(0L)])
  Encoding(text) <- "UTF-8"
  if (validUTF8(text)) text else iconv(text, "UTF-8", "UTF-8", sub = "byte")
}

file_named <- function(files, path) {
  for (file in files) if (identical(file$path, path)) return(file)
  NULL
}
