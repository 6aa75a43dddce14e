# Chunks: parts of files, at most 1 MiB each, named by the SHA-256 of their bytes.

sha256 <- function(bytes) as.vector(unclass(as.character(openssl::sha256(bytes))))

# The chunks of a file: name, offset and size, in order. An empty file has none.
chunks_of <- function(path) {
  from <- file(path, "rb")
  on.exit(close(from))
  names <- character()
  sizes <- integer()
  repeat {
    bytes <- readBin(from, "raw", chunk_bytes_max)
    if (!length(bytes)) break
    names <- c(names, sha256(bytes))
    sizes <- c(sizes, length(bytes))
  }
  data.frame(name = names, file = rep(path, length(names)), offset = chunk_bytes_max * (seq_along(names) - 1), size = sizes)
}

read_chunk <- function(chunk, call) {
  from <- file(chunk$file, "rb")
  on.exit(close(from))
  if (chunk$offset > 0) seek(from, chunk$offset)
  bytes <- readBin(from, "raw", chunk$size)
  if (sha256(bytes) != chunk$name) {
    file <- chunk$file
    abort_remotist("file_changed", c(
      "{.file {file}} changed during the upload.",
      i = "Call {.fn addJob} again when no program writes to it."
    ), call = call)
  }
  bytes
}

# The names of the chunks that this account has not uploaded yet; the market keeps the others for at least a day.
missing_chunks <- function(names, call) {
  names <- unique(names)
  missing <- character()
  for (batch in split(names, (seq_along(names) - 1L) %/% chunks_asked_max)) {
    body <- parse_body(send_request("POST", "/blob/missing", list(chunks = I(batch)), idempotent = TRUE, call = call), call)
    missing <- c(missing, as.character(unlist(body$missing)))
  }
  missing
}

# Uploads the chunks that the market lacks, with a progress bar. So an interrupted upload continues where it stopped.
upload_chunks <- function(chunks, call) {
  missing <- missing_chunks(chunks$name, call)
  to_send <- chunks[chunks$name %in% missing & !duplicated(chunks$name), ]
  if (nrow(to_send) < length(unique(chunks$name))) {
    present <- bytes_text(sum(chunks$size) - sum(to_send$size))
    cli::cli_inform(c(i = "{present} were uploaded before and are not sent again."))
  }
  if (!nrow(to_send)) return(invisible())
  total <- sum(to_send$size)
  sent <- 0
  cli::cli_progress_bar("Uploading", total = total, format = "Uploading {cli::pb_bar} {cli::pb_percent} of {bytes_text(total)} {cli::pb_eta_str}")
  for (i in seq_len(nrow(to_send))) {
    chunk <- to_send[i, ]
    send_request("PUT", paste0("/blob/", chunk$name), read_chunk(chunk, call), idempotent = TRUE, max_tries = 8L, call = call)
    sent <- sent + chunk$size
    cli::cli_progress_update(set = sent)
  }
  cli::cli_progress_done()
}
