# Vectors that R serialises in a compact form (ALTREP): the class, its package and a state. R's own reader does not check the
# state, and loads the package. Here only R's own classes are supported, and the vector is computed from the state: sequences
# with `:`, deferred strings with as.character(), and for wrappers the vector inside.

# The type of the vector that a class of R's own represents; NULL for any other class.
compact_type <- function(class) {
  switch(class,
    compact_intseq = item$integer, compact_realseq = item$double, deferred_string = item$string,
    wrap_logical = item$logical, wrap_integer = item$integer, wrap_real = item$double, wrap_complex = item$complex,
    wrap_raw = item$raw, wrap_string = item$string, wrap_list = item$list
  )
}

unknown_object <- "an object of an unknown kind"

read_altrep <- function(s, flags, depth) {
  if (has_bit(flags, 65536L)) mark_not_plain(s, "an S4 object")
  class <- read_altrep_class(s)
  value <- if (is.null(class)) {
    mark_not_plain(s, unknown_object)
    read_item(s, depth + 1L)
  } else if (class == "deferred_string") {
    read_deferred(s, depth)
  } else if (startsWith(class, "compact_")) {
    read_sequence(s, class == "compact_intseq")
  } else {
    read_pair_state(s, depth, compact_type(class), 2L)$value
  }
  # NULL or the attributes of the vector.
  set_attributes(s, value, read_attributes(s, depth + 1L))
}

# A pairlist (class package type) without tags. Returns the name of a class of R itself, else NULL.
read_altrep_class <- function(s) {
  next_pair <- function() if (read_word(s) != item$pairs) abort_stream("a compact vector has no class")
  next_pair()
  class <- read_tag(s)
  next_pair()
  package <- read_tag(s)
  next_pair()
  if (read_word(s) != item$integer || read_word(s) != 1L) abort_stream("a compact vector has no class")
  type <- read_word(s)
  if (read_word(s) != item$nil) abort_stream("a compact vector has no class")
  if (identical(package, "base") && is_string(class) && isTRUE(compact_type(class) == type)) class
}

# Whether expanding a compact form to so many bytes is within the limit for this stream.
may_expand <- function(s, bytes) {
  s$expansion_left <- s$expansion_left - bytes
  if (s$expansion_left < 0) mark_not_plain(s, "a compact vector that is too long")
  s$expansion_left >= 0
}

# The state of a sequence: length, first value and step.
read_sequence <- function(s, is_integer) {
  if (read_word(s) != item$double || read_word(s) != 3L) abort_stream("a compact vector has an invalid state")
  require_bytes(s, 24)
  state <- readBin(s$bytes[s$at:(s$at + 23)], "double", 3L, endian = s$endian)
  skip(s, 24)
  n <- state[[1L]]
  first <- state[[2L]]
  step <- state[[3L]]
  last <- first + step * (n - 1)
  valid <- all(is.finite(state)) && n >= 1 && n == trunc(n) && n < 2^52 && abs(step) == 1 && max(abs(first), abs(last)) < 2^52 &&
    (!is_integer || max(abs(first), abs(last)) < 2^31 && first == trunc(first))
  if (!valid) {
    mark_not_plain(s, unknown_object)
    return(NULL)
  }
  if (!may_expand(s, n * if (is_integer) 4 else 8) || !is.null(s$found)) return(NULL)
  value <- first:last
  if (length(value) != n) mark_not_plain(s, unknown_object)
  if (is_integer) as.integer(value) else as.double(value)
}

# Numbers that R converts to strings when they are used.
read_deferred <- function(s, depth) {
  state <- read_pair_state(s, depth, c(item$integer, item$double), 1L)
  # A string takes 56 bytes and its pointer 8.
  if (!is.null(s$found) || !may_expand(s, 64 * length(state$value))) return(NULL)
  # The range of the option scipen.
  penalty <- state$numbers
  if (is.na(penalty) || penalty < -9L || penalty > 9999L) {
    mark_not_plain(s, unknown_object)
    return(NULL)
  }
  before <- options(scipen = penalty)
  on.exit(options(before))
  as.character(state$value)
}

# A state that is a pair of a vector and some integers. Returns both, the vector without attributes.
read_pair_state <- function(s, depth, types, count) {
  if (read_word(s) != item$pairs) abort_stream("a compact vector has an invalid state")
  value <- read_item(s, depth + 1L)
  if (read_word(s) != item$integer) abort_stream("a compact vector has an invalid state")
  n <- read_length(s, 4)
  numbers <- read_vector(s, item$integer, n)
  if (!is.null(s$found)) return(list())
  if (!typeof(value) %in% names(item)[match(types, item)] && !(item$string %in% types && is.character(value)) || n != count) {
    mark_not_plain(s, unknown_object)
    return(list())
  }
  attributes(value) <- NULL
  list(value = value, numbers = numbers)
}
