# Vectors that R writes down in a compact form (ALTREP): the class, its package and a state. R's reader trusts the
# state blindly and loads the package. Here only R's own classes are known, and the vector is made anew from what they
# stand for: sequences by `:`, numbers as text by as.character(), and of what is only wrapped the vector inside.

# The type of the vector that a class of R's own brings forth; NULL for any other class.
compact_type <- function(class) {
  switch(class,
    compact_intseq = item$integer, compact_realseq = item$double, deferred_string = item$string,
    wrap_logical = item$logical, wrap_integer = item$integer, wrap_real = item$double, wrap_complex = item$complex,
    wrap_raw = item$raw, wrap_string = item$string, wrap_list = item$list
  )
}

not_known <- "an object of a kind that is not known"

read_altrep <- function(s, flags, depth) {
  if (has_bit(flags, 65536L)) not_plain(s, "an S4 object")
  class <- read_altrep_class(s)
  value <- if (is.null(class)) {
    not_plain(s, not_known)
    read_item(s, depth + 1L)
  } else if (class == "deferred_string") {
    read_deferred(s, depth)
  } else if (startsWith(class, "compact_")) {
    read_sequence(s, class == "compact_intseq")
  } else {
    read_pair_state(s, depth, compact_type(class), 2L)$value
  }
  # Either nothing or attributes as any vector has them.
  with_attributes_of(s, value, read_attributes(s, depth + 1L))
}

# (class package type), without tags; the name of a class of R itself, else NULL.
read_altrep_class <- function(s) {
  next_pair <- function() if (take_word(s) != item$pairs) damaged("a compact vector has no class")
  next_pair()
  class <- read_tag(s)
  next_pair()
  package <- read_tag(s)
  next_pair()
  if (take_word(s) != item$integer || take_word(s) != 1L) damaged("a compact vector has no class")
  type <- take_word(s)
  if (take_word(s) != item$nil) damaged("a compact vector has no class")
  if (identical(package, "base") && is_string(class) && isTRUE(compact_type(class) == type)) class
}

# Whether so much memory may still be taken for what comes in few bytes.
may_unfold <- function(s, bytes) {
  s$unfolded_left <- s$unfolded_left - bytes
  if (s$unfolded_left < 0) not_plain(s, "a compact vector that is too long")
  s$unfolded_left >= 0
}

# Length, first value and step.
read_sequence <- function(s, is_integer) {
  if (take_word(s) != item$double || take_word(s) != 3L) damaged("a compact vector has another state")
  need(s, 24)
  state <- readBin(s$bytes[s$at:(s$at + 23)], "double", 3L, endian = s$endian)
  skip(s, 24)
  n <- state[[1L]]
  first <- state[[2L]]
  step <- state[[3L]]
  last <- first + step * (n - 1)
  right <- all(is.finite(state)) && n >= 1 && n == trunc(n) && n < 2^52 && abs(step) == 1 && max(abs(first), abs(last)) < 2^52 &&
    (!is_integer || max(abs(first), abs(last)) < 2^31 && first == trunc(first))
  if (!right) {
    not_plain(s, not_known)
    return(NULL)
  }
  if (!may_unfold(s, n * if (is_integer) 4 else 8) || !is.null(s$found)) return(NULL)
  value <- first:last
  if (length(value) != n) not_plain(s, not_known)
  if (is_integer) as.integer(value) else as.double(value)
}

# Numbers that R will write as text once that is asked for.
read_deferred <- function(s, depth) {
  state <- read_pair_state(s, depth, c(item$integer, item$double), 1L)
  # A string takes 56 bytes and its place 8.
  if (!is.null(s$found) || !may_unfold(s, 64 * length(state$value))) return(NULL)
  # What R takes for scipen.
  penalty <- state$numbers
  if (is.na(penalty) || penalty < -9L || penalty > 9999L) {
    not_plain(s, not_known)
    return(NULL)
  }
  before <- options(scipen = penalty)
  on.exit(options(before))
  as.character(state$value)
}

# The vector itself, without attributes, and some numbers about it.
read_pair_state <- function(s, depth, types, count) {
  if (take_word(s) != item$pairs) damaged("a compact vector has another state")
  value <- read_item(s, depth + 1L)
  if (take_word(s) != item$integer) damaged("a compact vector has another state")
  n <- take_length(s, 4)
  numbers <- read_vector(s, item$integer, n)
  if (!is.null(s$found)) return(list())
  if (!typeof(value) %in% names(item)[match(types, item)] && !(item$string %in% types && is.character(value)) || n != count) {
    not_plain(s, not_known)
    return(list())
  }
  attributes(value) <- NULL
  list(value = value, numbers = numbers)
}
