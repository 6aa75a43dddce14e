# Chunks: pieces of at most 1 MiB, named by the SHA-256 of their bytes.

chunk_bytes <- 1024L * 1024L
chunks_asked_most <- 2048L

sha256 <- function(bytes) as.vector(unclass(as.character(openssl::sha256(bytes))))

# The chunks of a file: name, offset and size, in order. An empty file has none.
chunks_of <- function(path) {
  from <- file(path, "rb")
  on.exit(close(from))
  names <- character()
  sizes <- integer()
  repeat {
    bytes <- readBin(from, "raw", chunk_bytes)
    if (!length(bytes)) break
    names <- c(names, sha256(bytes))
    sizes <- c(sizes, length(bytes))
  }
  data.frame(name = names, file = rep(path, length(names)), offset = chunk_bytes * (seq_along(names) - 1), size = sizes)
}

read_chunk <- function(chunk, call) {
  from <- file(chunk$file, "rb")
  on.exit(close(from))
  if (chunk$offset > 0) seek(from, chunk$offset)
  bytes <- readBin(from, "raw", chunk$size)
  if (sha256(bytes) != chunk$name) {
    file <- chunk$file
    abort_remotist("file_changed", c(
      "{.file {file}} changed while it was being sent.",
      i = "Call {.fn addJob} again when nothing writes to it."
    ), call = call)
  }
  bytes
}

# Of these names, those that the market does not have from this account; it keeps the others for a day at least.
missing_chunks <- function(names, call) {
  names <- unique(names)
  missing <- character()
  for (some in split(names, (seq_along(names) - 1L) %/% chunks_asked_most)) {
    told <- answer(ask("POST", "/blob/missing", list(chunks = I(some)), again = TRUE, call = call), call)
    missing <- c(missing, as.character(unlist(told$missing)))
  }
  missing
}

# Sends what is missing, and shows how far it is. An upload that broke off goes on here: what arrived is not missing.
send_chunks <- function(chunks, call) {
  missing <- missing_chunks(chunks$name, call)
  to_send <- chunks[chunks$name %in% missing & !duplicated(chunks$name), ]
  if (nrow(to_send) < length(unique(chunks$name))) {
    there <- bytes_text(sum(chunks$size) - sum(to_send$size))
    cli::cli_inform(c(i = "Of it, {there} came in an earlier upload and need not be sent."))
  }
  if (!nrow(to_send)) return(invisible())
  total <- sum(to_send$size)
  sent <- 0
  cli::cli_progress_bar("Sending", total = total, format = "Sending {cli::pb_bar} {cli::pb_percent} of {bytes_text(total)} {cli::pb_eta_str}")
  for (i in seq_len(nrow(to_send))) {
    chunk <- to_send[i, ]
    ask("PUT", paste0("/blob/", chunk$name), read_chunk(chunk, call), again = TRUE, patience = 8L, call = call)
    sent <- sent + chunk$size
    cli::cli_progress_update(set = sent)
  }
  cli::cli_progress_done()
}
