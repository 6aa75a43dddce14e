# Vectors that R writes down in a compact form (ALTREP): the class, its package and a state. R's reader trusts the
# state blindly and loads the package, so only R's own classes pass, each with the very state that R writes.

# The type of the vector that a class of R's own brings forth; NULL for any other class.
compact_type <- function(class) {
  switch(class,
    compact_intseq = item$integer, compact_realseq = item$double, deferred_string = item$string,
    wrap_logical = item$logical, wrap_integer = item$integer, wrap_real = item$double, wrap_complex = item$complex,
    wrap_raw = item$raw, wrap_string = item$string, wrap_list = item$list
  )
}

# Returns the type of the vector, or NULL when it is not plain.
walk_altrep <- function(s, depth) {
  class <- walk_altrep_class(s, depth)
  type <- if (!is.null(class)) compact_type(class)
  right <- if (is.null(type)) {
    walk_item(s, depth + 1L)
    FALSE
  } else if (class == "deferred_string") {
    walk_pair_state(s, depth, c(item$integer, item$double), 1)
  } else if (startsWith(class, "compact_")) {
    walk_sequence(s, type == item$integer)
  } else {
    walk_pair_state(s, depth, type, 2)
  }
  if (!right) not_plain(s, "an object of a kind that is not known")
  from <- s$at
  if (take_word(s) %% 256 != item$nil) {
    s$at <- from
    walk_attributes(s, depth)
  }
  if (right) type
}

# (class package type), without tags; the name of a class of R itself, else NULL.
walk_altrep_class <- function(s, depth) {
  next_pair <- function() if (take_word(s) != item$pairs) damaged("a compact vector has no class")
  next_pair()
  class <- walk_tag(s)
  next_pair()
  package <- walk_tag(s)
  next_pair()
  if (take_word(s) != item$integer || take_word(s) != 1) damaged("a compact vector has no class")
  type <- take_word(s)
  if (take_word(s) != item$nil) damaged("a compact vector has no class")
  if (identical(package, "base") && is_string(class) && isTRUE(compact_type(class) == type)) class
}

# Length, first value and step.
walk_sequence <- function(s, is_integer) {
  if (take_word(s) != item$double || take_word(s) != 3) damaged("a compact vector has another state")
  need(s, 24)
  state <- readBin(s$bytes[s$at:(s$at + 23)], "double", 3L, endian = s$endian)
  skip(s, 24)
  last <- state[[2L]] + state[[3L]] * (state[[1L]] - 1)
  all(is.finite(state)) && state[[1L]] >= 0 && state[[1L]] == trunc(state[[1L]]) && state[[1L]] < 2^52 && abs(state[[3L]]) == 1 &&
    (!is_integer || abs(state[[2L]]) < 2^31 && abs(last) < 2^31 && state[[2L]] == trunc(state[[2L]]))
}

# The vector itself and some numbers about it.
walk_pair_state <- function(s, depth, types, numbers) {
  if (take_word(s) != item$pairs) damaged("a compact vector has another state")
  type <- walk_item(s, depth + 1L)
  if (take_word(s) != item$integer) damaged("a compact vector has another state")
  n <- take_length(s, 4)
  skip(s, 4 * n)
  isTRUE(type %in% types) && n == numbers
}
