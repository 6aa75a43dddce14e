# What is in a stream. Of a result the variables: a named list, of which only what is plain data is made into R objects.

# `values`: the plain variables by name. `left_out`: for each other one what it is. Signals remotist_stream when the
# stream is no such list.
read_result <- function(bytes) {
  s <- new_stream(bytes)
  read_header(s)
  flags <- take_word(s)
  if (flags %% 256 != item$list || flags %/% 65536 %% 2 == 1) damaged("it is not a list of variables")
  n <- take_length(s, 4)
  spans <- matrix(0, 2L, n)
  kinds <- rep(NA_character_, n)
  events <- vector("list", n)
  for (i in seq_len(n)) {
    s$found <- NULL
    s$events <- list()
    spans[1L, i] <- s$at
    walk_item(s, 1L)
    spans[2L, i] <- s$at - 1
    if (!is.null(s$found)) kinds[[i]] <- s$found
    events[[i]] <- s$events
  }
  names <- read_names(s, flags %/% 512 %% 2 == 1, n)
  if (s$at != s$size + 1) damaged("it goes on after its end")
  plain <- which(is.na(kinds))
  values <- read_plain(plain_stream(s, spans, events, plain))
  names(values) <- names[plain]
  odd <- plain[!vapply(values, is_sound, NA)]
  kinds[odd] <- "an object that contradicts itself"
  values <- values[!plain %in% odd]
  dropped <- kinds[!is.na(kinds)]
  names(dropped) <- names[!is.na(kinds)]
  list(values = values, left_out = dropped)
}

# One value by itself. A list of `value` when it is plain data, else of `left_out`, what it is.
read_value <- function(bytes) {
  s <- new_stream(bytes)
  read_header(s)
  walk_item(s, 1L)
  if (s$at != s$size + 1) damaged("it goes on after its end")
  if (!is.null(s$found)) return(list(left_out = s$found))
  value <- read_plain(bytes)
  if (is_sound(value)) list(value = value) else list(left_out = "an object that contradicts itself")
}

# R's own reader, which still refuses some of what it should not find.
read_plain <- function(bytes) tryCatch(unserialize(bytes), error = function(e) damaged(conditionMessage(e)))

# The list's only attribute.
read_names <- function(s, has_attributes, n) {
  if (n == 0 && !has_attributes) return(character())
  s$found <- NULL
  flags <- if (has_attributes) take_word(s) else 0
  if (flags %% 256 != item$pairs || flags %/% 1024 %% 2 != 1 || flags %/% 512 %% 2 == 1) damaged("its variables have no names")
  if (!identical(walk_tag(s), "names")) damaged("its variables have no names")
  from <- s$at
  if (!identical(walk_item(s, 1L), item$string) || !is.null(s$found)) damaged("its variables have no names")
  names <- read_plain(c(s$header, s$bytes[from:(s$at - 1)]))
  if (take_word(s) %% 256 != item$nil || length(names) != n || anyNA(names)) damaged("its variables have no names")
  names <- enc2utf8(as.vector(names))
  if (!all(validUTF8(names)) || anyDuplicated(names)) damaged("its variables have names that cannot be")
  names
}

# A stream of the plain elements alone. Symbols are numbered anew, and one that came first in an element that is left
# out is spelt out where it is needed first.
plain_stream <- function(s, spans, events, plain) {
  if (length(plain) == ncol(spans)) {
    pieces <- list(if (length(plain)) s$bytes[spans[1L, 1L]:spans[2L, length(plain)]])
  } else {
    numbers <- new.env(parent = emptyenv())
    numbers$given <- integer(length(s$refs))
    numbers$count <- 0L
    pieces <- unlist(lapply(plain, function(i) renumbered(s, spans[, i], events[[i]], numbers)), recursive = FALSE)
  }
  list_of <- writeBin(c(item$list, length(plain)), raw(), endian = s$endian)
  do.call(c, c(list(s$header, list_of), pieces))
}

renumbered <- function(s, span, events, numbers) {
  pieces <- list()
  from <- span[[1L]]
  for (event in events) {
    number <- event[[3L]]
    if (event[[4L]] == 1) {
      numbers$count <- numbers$count + 1L
      numbers$given[[number]] <- numbers$count
      next
    }
    if (event[[1L]] > from) pieces[[length(pieces) + 1L]] <- s$bytes[from:(event[[1L]] - 1)]
    if (numbers$given[[number]] == 0L) {
      numbers$count <- numbers$count + 1L
      numbers$given[[number]] <- numbers$count
      symbol <- s$refs[[number]]
      pieces[[length(pieces) + 1L]] <- s$bytes[symbol[[1L]]:symbol[[2L]]]
    } else {
      pieces[[length(pieces) + 1L]] <- writeBin(numbers$given[[number]] * 256L + item$ref, raw(), endian = s$endian)
    }
    from <- event[[2L]] + 1
  }
  if (from <= span[[2L]]) pieces[[length(pieces) + 1L]] <- s$bytes[from:span[[2L]]]
  pieces
}
