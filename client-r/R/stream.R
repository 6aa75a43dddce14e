# R's serialization format, read without R's own reader. A result comes from a machine of somebody unknown, and to
# unserialize it is to let its bytes choose what R does: load packages, make environments, functions and promises, take
# memory. So the stream is read here, and only what is understood is made: vectors from their data, attributes by R's own
# functions after attributes.R has checked them. No bit of a word of flags, no state of a compact vector and no name of an encoding ever
# reaches R. What is no plain data is walked over, to find where it ends.
#
# Format (versions 2 and 3): "X\n" (numbers big end first) or "B\n" (as they lie in the writer's memory, here little end
# first), three numbers, in version 3 the writer's encoding, then one item. An item is a word of flags (bits 0-7 type,
# 8 object, 9 has attributes, 10 has a tag, from 12 on the object's own) and what the type brings. Symbols and
# environments are numbered as they come; a later one is only a number.

item <- list(
  nil = 254L, ref = 255L, symbol = 1L, pairs = 2L, closure = 3L, environment = 4L, promise = 5L, call = 6L, special = 7L,
  builtin = 8L, char = 9L, logical = 10L, integer = 13L, double = 14L, complex = 15L, string = 16L, dots = 17L, list = 19L,
  expression = 20L, bytecode = 21L, pointer = 22L, weak = 23L, raw = 24L, s4 = 25L, altrep = 238L, attr_pairs = 239L,
  attr_call = 240L, base_env = 241L, empty_env = 242L, bc_ref = 243L, bc_def = 244L, persistent = 247L, package = 248L,
  namespace = 249L, base_namespace = 250L, missing = 251L, unbound = 252L, global_env = 253L
)

# By type + 1: the bytes that an element has at least; 0 for what is no vector.
element_bytes <- replace(numeric(256L), c(10L, 13L, 14L, 15L, 16L, 19L, 20L, 24L) + 1L, c(4, 4, 8, 16, 8, 4, 4, 1))
are_pairs <- replace(logical(256L), c(2L, 3L, 5L, 6L, 17L) + 1L, TRUE)

depth_most <- 400L
attributes_most <- 256L
# Memory that compact forms, of which a few bytes stand for any number of elements, may take once they are unfolded.
unfolded_bytes_most <- 256 * 2^20
view_bytes <- 8192
small_bytes <- 4096

damaged <- function(why) stop(structure(class = c("remotist_stream", "error", "condition"), list(message = why, call = NULL)))

# Where the reader stands: `at` is the next byte, `found` what is not plain data in the element that is being read, `has_table`
# whether it has a data.table whose pointer was left out, `refs` the name of each numbered symbol by its number, and NULL for
# what is none.
new_stream <- function(bytes) {
  s <- new.env(parent = emptyenv())
  s$bytes <- bytes
  s$size <- length(bytes)
  s$at <- 1
  s$endian <- "big"
  s$found <- NULL
  s$refs <- new.env(hash = TRUE, parent = emptyenv())
  s$ref_count <- 0L
  s$has_table <- FALSE
  s$elements_left <- length(bytes) / 4
  s$unfolded_left <- unfolded_bytes_most
  s$base <- -Inf
  s$views <- vector("list", 4L)
  s$string_base <- -Inf
  s$connection <- NULL
  s
}

close_stream <- function(s) if (!is.null(s$connection)) close(s$connection)

need <- function(s, n) if (s$at + n - 1 > s$size) damaged("it ends too early")

# Forced first: the length itself may still have to be read from the stream.
skip <- function(s, n) {
  force(n)
  need(s, n)
  s$at <- s$at + n
}

# Words are decoded some thousand at a time, for each of the four ways in which they can be aligned.
view_at <- function(s, at) {
  if (at < s$base || at >= s$base + view_bytes) {
    s$base <- at
    s$views <- vector("list", 4L)
  }
  offset <- at - s$base
  alignment <- offset %% 4
  view <- s$views[[alignment + 1]]
  if (is.null(view)) {
    from <- s$base + alignment
    to <- min(from + view_bytes + 3, s$size)
    view <- readBin(s$bytes[from:to], "integer", view_bytes / 4 + 1, endian = s$endian)
    s$views[[alignment + 1]] <- view
  }
  list(view, offset %/% 4 + 1)
}

take_word <- function(s) {
  at <- s$at
  if (at + 3 > s$size) damaged("it ends too early")
  offset <- at - s$base
  view <- if (offset >= 0 && offset < view_bytes) s$views[[offset %% 4 + 1]]
  word <- if (is.null(view)) {
    found <- view_at(s, at)
    found[[1L]][[found[[2L]]]]
  } else {
    view[[offset %/% 4 + 1]]
  }
  if (is.na(word)) damaged("it holds something that is not known")
  s$at <- at + 4
  word
}

# No length can be more than there are bytes left, nor all lists together have more elements than the stream has words.
take_length <- function(s, bytes_each) {
  n <- take_word(s)
  if (n < 0L) damaged("a length is negative")
  need(s, n * bytes_each)
  n
}

count_elements <- function(s, n) {
  s$elements_left <- s$elements_left - n
  if (s$elements_left < 0) damaged("it ends too early")
}

read_header <- function(s) {
  if (s$size < 14) damaged("it is not an R stream")
  if (identical(s$bytes[1:2], charToRaw("B\n"))) {
    if (.Platform$endian != "little") damaged("it was written for another kind of machine")
    s$endian <- "little"
  } else if (!identical(s$bytes[1:2], charToRaw("X\n"))) {
    damaged("it is not an R stream")
  }
  s$at <- 3
  version <- take_word(s)
  skip(s, 8)
  if (version == 3L) skip(s, take_length(s, 1)) else if (version != 2L) damaged("it has a version that is not known")
}

not_plain <- function(s, what) if (is.null(s$found)) s$found <- what

contradicts <- function(s) not_plain(s, "an object that contradicts itself")

has_bit <- function(flags, bit) flags %/% bit %% 2L == 1L

# Reads one item. What it returns counts only while nothing was found that is no plain data.
read_item <- function(s, depth) {
  if (depth > depth_most) damaged("it is nested too deeply")
  flags <- take_word(s)
  type <- flags %% 256L
  bytes_each <- element_bytes[[type + 1L]]
  if (bytes_each > 0L) {
    if (flags %/% 65536L %% 2L == 1L) not_plain(s, "an S4 object")
    n <- take_length(s, bytes_each)
    value <- if (type == 16L) {
      read_strings(s, n)
    } else if (type == 19L || type == 20L) {
      if (type == 20L) not_plain(s, "code")
      read_list(s, n, depth)
    } else {
      read_vector(s, type, n)
    }
    if (flags %/% 512L %% 2L == 1L) {
      value <- with_attributes_of(s, value, read_attributes(s, depth + 1L))
    }
    return(value)
  }
  if (type == 254L) return(NULL)
  if (are_pairs[[type + 1L]]) return(read_pairs(s, flags, depth))
  if (type == 238L) return(read_altrep(s, flags, depth))
  walk_unplain(s, flags, type, depth)
  NULL
}

read_list <- function(s, n, depth) {
  count_elements(s, n)
  depth <- depth + 1L
  values <- if (is.null(s$found)) vector("list", n)
  for (i in seq_len(n)) {
    value <- read_item(s, depth)
    if (!is.null(value) && is.null(s$found)) values[[i]] <- value
  }
  values
}

# Small pieces by an index, large ones by a connection, which copies without one.
bytes_from <- function(s, from, n) {
  if (n <= small_bytes) return(s$bytes[from - 1 + seq_len(n)])
  if (is.null(s$connection)) s$connection <- rawConnection(s$bytes)
  seek(s$connection, from - 1)
  s$connection
}

raw_at <- function(s, from, n) {
  source <- bytes_from(s, from, n)
  if (is.raw(source)) source else readBin(source, "raw", n)
}

read_vector <- function(s, type, n) {
  from <- s$at
  bytes <- n * element_bytes[[type + 1L]]
  s$at <- from + bytes
  if (!is.null(s$found)) return(NULL)
  what <- switch(type - 9L, "integer", NULL, NULL, "integer", "double", "complex")
  if (is.null(what)) what <- "raw"
  value <- if (n == 0L) {
    vector(what, 0L)
  } else if (n == 1L && bytes == 4) {
    found <- view_at(s, from)
    found[[1L]][[found[[2L]]]]
  } else {
    readBin(bytes_from(s, from, bytes), what, n, endian = s$endian)
  }
  if (type != 10L) return(value)
  if (min(value, 0L, na.rm = TRUE) < 0L || max(value, 1L, na.rm = TRUE) > 1L) contradicts(s)
  as.logical(value)
}

# Pairs are read in a loop: their chains are long.
read_pairs <- function(s, flags, depth) {
  values <- list()
  tags <- character()
  count <- 0L
  depth <- depth + 1L
  repeat {
    type <- flags %% 256L
    if (type == item$call) not_plain(s, "code")
    if (type == item$closure) not_plain(s, "a function")
    if (type == item$promise || type == item$dots) not_plain(s, "a promise")
    if (has_bit(flags, 65536L)) not_plain(s, "an S4 object")
    count_elements(s, 1)
    if (has_bit(flags, 512L)) {
      read_attributes(s, depth)
      not_plain(s, "an internal object")
    }
    tag <- NULL
    if (has_bit(flags, 1024L)) {
      if (type == item$closure || type == item$promise) read_item(s, depth) else tag <- read_tag(s)
    }
    value <- read_item(s, depth)
    if (is.null(s$found)) {
      count <- count + 1L
      values[count] <- list(value)
      tags[[count]] <- if (is.null(tag)) "" else tag
    }
    flags <- take_word(s)
    if (!are_pairs[[flags %% 256L + 1L]]) break
  }
  if (flags %% 256L != item$nil) {
    s$at <- s$at - 4
    read_item(s, depth)
    not_plain(s, "an internal object")
  }
  if (!is.null(s$found)) return(NULL)
  if (any(nzchar(tags))) names(values) <- tags
  as.pairlist(values)
}

# A symbol's name; NULL where there is no tag.
read_tag <- function(s) {
  flags <- take_word(s)
  type <- flags %% 256L
  if (type == item$nil) return(NULL)
  if (type == item$symbol) return(read_symbol(s))
  if (type != item$ref) damaged("where a name should be is something else")
  name <- read_ref(s, flags)
  if (is.null(name)) damaged("where a name should be is something else")
  name
}

read_symbol <- function(s) {
  name <- read_char(s)
  if (is.na(name) || !nzchar(name) || nchar(name, "bytes") > name_bytes_most) damaged("a name is missing or too long")
  add_ref(s, name)
  name
}

add_ref <- function(s, name) {
  s$ref_count <- s$ref_count + 1L
  if (!is.null(name)) assign(as.character(s$ref_count), name, envir = s$refs)
}

# The name of the symbol that a number stands for, or NULL when it is no symbol.
read_ref <- function(s, flags) {
  number <- flags %/% 256L
  if (number == 0L) number <- take_word(s)
  if (number < 1L || number > s$ref_count) damaged("it refers to something that did not come")
  s$refs[[as.character(number)]]
}

# A named list, or NULL.
read_attributes <- function(s, depth) {
  if (depth > depth_most) damaged("it is nested too deeply")
  values <- list()
  names <- character()
  count <- 0L
  repeat {
    flags <- take_word(s)
    if (flags %% 256L == item$nil) break
    if (flags %% 256L != item$pairs || !has_bit(flags, 1024L) || has_bit(flags, 512L)) damaged("where attributes should be is something else")
    name <- read_tag(s)
    if (is.null(name)) damaged("an attribute has no name")
    value <- if (name == table_pointer) walk_table_pointer(s, depth) else read_item(s, depth + 1L)
    count <- count + 1L
    if (count > attributes_most) not_plain(s, "an object with very many attributes")
    if (is.null(s$found) && !is.null(value)) {
      values[[length(values) + 1L]] <- value
      names[[length(values)]] <- name
    }
  }
  if (!is.null(s$found) || !length(values)) return(NULL)
  names(values) <- names
  values
}
