# Strings in a stream. Each is a word of flags (type 9 and the encoding), its length and its bytes; NA has the length -1.

string_window_bytes <- 65536
encodings <- c(utf8 = 32768L, latin1 = 16384L, bytes = 8192L)
# All valid flags of a string: its type, an encoding, and whether it is ASCII.
string_flags <- as.integer(outer(9L + c(0L, encodings), c(0L, 262144L), `+`))

# Reads one string.
read_char <- function(s) {
  flags <- read_word(s)
  if (!(flags %in% string_flags)) abort_stream("it has another item where a string is expected")
  n <- read_word(s)
  if (n == -1L) return(NA_character_)
  if (n < 0L) abort_stream("a length is negative")
  from <- s$at
  skip(s, n)
  if (!is.null(s$found) && n > 10000L) return("")
  text <- raw_at(s, from, n)
  if (any(text == as.raw(0L))) abort_stream("a string contains a zero byte")
  with_encodings(s, rawToChar(text), flags, any(text > as.raw(127L)))
}

# Reads `n` strings: runs of short ones at once, others one by one.
read_strings <- function(s, n) {
  values <- if (is.null(s$found)) character(n)
  done <- 0
  while (done < n) {
    run <- if (n - done > 16) string_run(s, n - done)
    if (is.null(run)) {
      value <- read_char(s)
      done <- done + 1
      if (is.null(s$found)) values[[done]] <- value
    } else {
      if (is.null(s$found)) values[done + seq_along(run$flags)] <- run_strings(s, run)
      s$at <- run$end
      done <- done + length(run$flags)
    }
  }
  values
}

# Every position in the next bytes (the window) that could be the header of a string, with its flags, where the string would end,
# and the number of the header that begins there (0: none). `numbers` has the number of each header at its position. A length of 9
# looks like a header, too.
string_headers <- function(s) {
  s$string_base <- s$at
  s$string_bytes <- bytes <- s$bytes[s$at:min(s$at + string_window_bytes - 1, s$size)]
  big <- s$endian == "big"
  positions <- which(bytes == as.raw(item$char)) - if (big) 3L else 0L
  positions <- positions[positions >= 1L & positions <= length(bytes) - 7L]
  byte <- function(i) as.integer(bytes[positions + if (big) 4L - i else i - 1L])
  positions <- positions[byte(4L) == 0L & byte(3L) %in% c(0L, 4L) & byte(2L) %in% c(0L, 32L, 64L, 128L)]
  flags <- byte(1L) + 256L * byte(2L) + 65536L * byte(3L)
  positions <- positions + 4L
  lengths <- ((byte(4L) * 256 + byte(3L)) * 256 + byte(2L)) * 256 + byte(1L)
  positions <- positions - 4L
  is_na <- lengths == 4294967295
  ends <- positions + 8 + ifelse(is_na, 0, lengths)
  numbers <- integer(length(bytes))
  numbers[positions] <- seq_along(positions)
  next_header <- integer(length(positions))
  in_window <- ends <= length(bytes)
  next_header[in_window] <- numbers[ends[in_window]]
  s$headers <- list(positions = positions, flags = flags, is_na = is_na, ends = ends, next_header = next_header, numbers = numbers)
}

# The run of at most `n` strings that begins here and ends within the window; NULL when there is none.
string_run <- function(s, n) {
  if (s$at < s$string_base || s$at + 8 > s$string_base + string_window_bytes) string_headers(s)
  run <- next_string_run(s, n)
  # The window is used up.
  if (is.null(run) && s$at > s$string_base) {
    if (s$at - s$string_base < string_window_bytes / 2) return(NULL)
    string_headers(s)
    run <- next_string_run(s, n)
  }
  run
}

next_string_run <- function(s, n) {
  headers <- s$headers
  offset <- s$at - s$string_base + 1
  header <- if (offset <= length(headers$numbers)) headers$numbers[[offset]] else 0L
  if (header == 0L) return(NULL)
  chosen <- integer(min(n, length(headers$positions)))
  next_header <- headers$next_header
  count <- 0L
  while (count < length(chosen) && header > 0L) {
    count <- count + 1L
    chosen[[count]] <- header
    header <- next_header[[header]]
  }
  # The last string may end beyond the window.
  if (headers$ends[[chosen[[count]]]] > length(s$string_bytes) + 1) count <- count - 1L
  if (count == 0L) return(NULL)
  chosen <- chosen[seq_len(count)]
  end <- headers$ends[[chosen[[count]]]]
  list(from = offset, to = end - 1, positions = headers$positions[chosen], flags = headers$flags[chosen], is_na = headers$is_na[chosen], end = s$string_base + end - 1)
}

# The strings of a run. Their headers are removed except for one zero byte each, with which readBin() separates strings.
run_strings <- function(s, run) {
  text <- s$string_bytes[run$from:run$to]
  positions <- run$positions - run$from + 1
  keep <- rep(TRUE, length(text))
  for (i in 0:6) keep[positions + i] <- FALSE
  text[positions + 7] <- as.raw(0L)
  text <- c(text[keep][-1L], as.raw(0L))
  count <- length(positions)
  if (sum(text == as.raw(0L)) != count) abort_stream("a string contains a zero byte")
  values <- readBin(text, "character", count)
  if (any(text > as.raw(127L))) values <- with_encodings(s, values, run$flags, TRUE)
  values[run$is_na] <- NA_character_
  values
}

# Marks the encoding of strings: UTF-8 only if they are valid UTF-8; strings without a mark that are not are marked as bytes.
with_encodings <- function(s, values, flags, has_non_ascii) {
  if (!has_non_ascii) return(values)
  valid <- validUTF8(values)
  is_utf8 <- has_bit(flags, encodings[["utf8"]])
  if (any(is_utf8 & !valid)) mark_not_plain(s, "text that is not valid UTF-8")
  Encoding(values) <- ifelse(
    has_bit(flags, encodings[["bytes"]]), "bytes",
    ifelse(has_bit(flags, encodings[["latin1"]]), "latin1", ifelse(valid, "UTF-8", "bytes"))
  )
  values
}
