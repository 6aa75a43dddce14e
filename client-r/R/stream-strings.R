# Strings in a stream. Each is a word of flags (type 9 and how it is encoded), its length and its bytes; NA has the length -1.

string_view_bytes <- 65536
encodings <- c(utf8 = 32768L, latin1 = 16384L, bytes = 8192L)
# All flags that a string can have: its type, an encoding, and whether it is ASCII.
string_flags <- as.integer(outer(9L + c(0L, encodings), c(0L, 262144L), `+`))

# One string by itself.
read_char <- function(s) {
  flags <- take_word(s)
  if (!(flags %in% string_flags)) damaged("where a string should be is something else")
  n <- take_word(s)
  if (n == -1L) return(NA_character_)
  if (n < 0L) damaged("a length is negative")
  from <- s$at
  skip(s, n)
  if (!is.null(s$found) && n > 10000L) return("")
  text <- raw_at(s, from, n)
  if (any(text == as.raw(0L))) damaged("a string holds a zero byte")
  with_encodings(s, rawToChar(text), flags, any(text > as.raw(127L)))
}

# Many at once where they follow one another in plain sight, else one by one.
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

# Everything in the next bytes that could be a string's head: its place, its flags, where the string would end, and the number
# of the head that begins there (0: none). `numbers` has each head's number at its place. A length of 9 looks like a head, too.
string_heads <- function(s) {
  s$string_base <- s$at
  s$string_bytes <- bytes <- s$bytes[s$at:min(s$at + string_view_bytes - 1, s$size)]
  big <- s$endian == "big"
  places <- which(bytes == as.raw(item$char)) - if (big) 3L else 0L
  places <- places[places >= 1L & places <= length(bytes) - 7L]
  byte <- function(i) as.integer(bytes[places + if (big) 4L - i else i - 1L])
  places <- places[byte(4L) == 0L & byte(3L) %in% c(0L, 4L) & byte(2L) %in% c(0L, 32L, 64L, 128L)]
  flags <- byte(1L) + 256L * byte(2L) + 65536L * byte(3L)
  places <- places + 4L
  lengths <- ((byte(4L) * 256 + byte(3L)) * 256 + byte(2L)) * 256 + byte(1L)
  places <- places - 4L
  is_na <- lengths == 4294967295
  ends <- places + 8 + ifelse(is_na, 0, lengths)
  numbers <- integer(length(bytes))
  numbers[places] <- seq_along(places)
  following <- integer(length(places))
  in_sight <- ends <= length(bytes)
  following[in_sight] <- numbers[ends[in_sight]]
  s$heads <- list(places = places, flags = flags, is_na = is_na, ends = ends, following = following, numbers = numbers)
}

# As many strings from here on as follow one another within what is in sight, at most n; NULL when there is none.
string_run <- function(s, n) {
  if (s$at < s$string_base || s$at + 8 > s$string_base + string_view_bytes) string_heads(s)
  run <- next_run(s, n)
  # What is in sight is used up.
  if (is.null(run) && s$at > s$string_base) {
    if (s$at - s$string_base < string_view_bytes / 2) return(NULL)
    string_heads(s)
    run <- next_run(s, n)
  }
  run
}

next_run <- function(s, n) {
  heads <- s$heads
  offset <- s$at - s$string_base + 1
  head <- if (offset <= length(heads$numbers)) heads$numbers[[offset]] else 0L
  if (head == 0L) return(NULL)
  some <- integer(min(n, length(heads$places)))
  following <- heads$following
  count <- 0L
  while (count < length(some) && head > 0L) {
    count <- count + 1L
    some[[count]] <- head
    head <- following[[head]]
  }
  # The last may reach out of sight.
  if (heads$ends[[some[[count]]]] > length(s$string_bytes) + 1) count <- count - 1L
  if (count == 0L) return(NULL)
  some <- some[seq_len(count)]
  end <- heads$ends[[some[[count]]]]
  list(from = offset, to = end - 1, places = heads$places[some], flags = heads$flags[some], is_na = heads$is_na[some], end = s$string_base + end - 1)
}

# The strings of a run: their heads are cut out but for one zero byte each, by which R tells strings apart.
run_strings <- function(s, run) {
  text <- s$string_bytes[run$from:run$to]
  places <- run$places - run$from + 1
  keep <- rep(TRUE, length(text))
  for (i in 0:6) keep[places + i] <- FALSE
  text[places + 7] <- as.raw(0L)
  text <- c(text[keep][-1L], as.raw(0L))
  count <- length(places)
  if (sum(text == as.raw(0L)) != count) damaged("a string holds a zero byte")
  values <- readBin(text, "character", count)
  if (any(text > as.raw(127L))) values <- with_encodings(s, values, run$flags, TRUE)
  values[run$is_na] <- NA_character_
  values
}

# Marks text as what it is: as UTF-8 only what is; what has no mark and is no UTF-8 is only bytes.
with_encodings <- function(s, values, flags, is_foreign) {
  if (!is_foreign) return(values)
  valid <- validUTF8(values)
  is_utf8 <- has_bit(flags, encodings[["utf8"]])
  if (any(is_utf8 & !valid)) not_plain(s, "text that is not valid UTF-8")
  Encoding(values) <- ifelse(
    has_bit(flags, encodings[["bytes"]]), "bytes",
    ifelse(has_bit(flags, encodings[["latin1"]]), "latin1", ifelse(valid, "UTF-8", "bytes"))
  )
  values
}
