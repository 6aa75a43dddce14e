# A volunteer for tests that speaks docs/protocol.md, runs nothing, and returns what it was given: bytes and names that no
# honest one would. Plain sockets of R; the market's own listener, without TLS.

random_bytes <- function(n) as.raw(sample(0:255, n, TRUE))

# A WebSocket from here to the market on `port`.
dial <- function(port, token) {
  socket <- socketConnection("127.0.0.1", port, open = "r+b", blocking = TRUE, timeout = 60)
  writeBin(charToRaw(paste0(
    "GET /volunteer/socket HTTP/1.1\r\nHost: 127.0.0.1:", port, "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n",
    "Sec-WebSocket-Key: ", jsonlite::base64_enc(random_bytes(16)), "\r\nAuthorization: Bearer ", token, "\r\n\r\n"
  )), socket)
  head <- raw()
  while (length(head) < 4L || !identical(utils::tail(head, 4L), charToRaw("\r\n\r\n"))) head <- c(head, readBin(socket, "raw", 1L))
  if (!grepl("^HTTP/1.1 101", rawToChar(head))) stop("no socket: ", rawToChar(head))
  socket
}

# One text frame; a client's frames are masked.
say <- function(socket, message) {
  text <- charToRaw(enc2utf8(as.character(jsonlite::toJSON(message, auto_unbox = TRUE))))
  n <- length(text)
  size <- if (n < 126L) as.raw(128L + n) else if (n < 65536L) c(as.raw(254L), writeBin(n, raw(), endian = "big")[3:4]) else c(as.raw(255L), raw(4L), writeBin(n, raw(), endian = "big"))
  mask <- random_bytes(4L)
  writeBin(c(as.raw(0x81), size, mask, xor(text, rep_len(mask, n))), socket)
}

read_bytes <- function(socket, n) {
  bytes <- raw()
  while (length(bytes) < n) {
    some <- readBin(socket, "raw", n - length(bytes))
    if (!length(some)) stop("the market closed the socket")
    bytes <- c(bytes, some)
  }
  bytes
}

# The next message, however many pings come before it.
hear <- function(socket) {
  repeat {
    head <- as.integer(read_bytes(socket, 2L))
    n <- head[[2L]]
    if (n == 126L) n <- sum(as.integer(read_bytes(socket, 2L)) * c(256, 1)) else if (n == 127L) n <- sum(as.integer(read_bytes(socket, 8L)) * 256^(7:0))
    text <- if (n > 0) read_bytes(socket, n) else raw()
    if (head[[1L]] == 0x88) stop("the market closed: ", rawToChar(text[-(1:2)]))
    if (head[[1L]] == 0x81) return(jsonlite::fromJSON(rawToChar(text), simplifyVector = FALSE))
  }
}

# Takes one job and ends it with these files: lists of role, path and bytes.
run_one_job <- function(port, token, files) {
  socket <- dial(port, token)
  on.exit(close(socket))
  seq <- 0
  tell <- function(message) {
    seq <<- seq + 1
    say(socket, c(list(type = message$type, seq = seq), message[names(message) != "type"]))
  }
  heard <- 0
  await <- function(type) {
    repeat {
      message <- hear(socket)
      if (!is.null(message$seq)) heard <<- message$seq
      say(socket, list(type = "ack", ack = heard))
      if (message$type == "problem") stop("the market refused: ", message$detail)
      if (message$type == type) return(message)
    }
  }
  tell(list(type = "hello", protocols = I(1L), software = "hostile 1", taking_jobs = TRUE, attempts = list()))
  await("welcome")
  assigned <- await("assign")$jobs[[1L]]
  attempt <- assigned[c("job", "attempt", "token")]
  tell(list(type = "accept", attempts = list(attempt)))
  documents <- lapply(files, function(file) list(role = file$role, path = file$path, base64 = gsub("\n", "", jsonlite::base64_enc(file$bytes))))
  tell(c(list(type = "outcome"), attempt, list(outcome = "completed", cpu_ms = 1, files = documents)))
  repeat {
    message <- hear(socket)
    if (message$type == "problem") stop("the market refused: ", message$detail)
    if (!is.null(message$ack) && message$ack >= seq) break
  }
  tell(list(type = "goodbye", reason = "done", attempts = list()))
  assigned$job
}
