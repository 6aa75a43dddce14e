# A reader of R's serialisation format that does not use R's own. A result comes from a machine that the user does not know, and
# unserialize() would let its bytes control R: load packages, create environments, functions and promises, allocate memory. This
# reader creates only objects that it fully understands: vectors from their data, attributes with R's own functions after
# attributes.R has checked them. No flags, no state of a compact vector and no name of an encoding are passed to R. Items that
# are not plain data are skipped, to find where they end.
#
# Format (versions 2 and 3): "X\n" (big-endian numbers) or "B\n" (native numbers, here little-endian), three numbers, in version 3
# the writer's encoding, then one item. An item is a 32-bit word of flags (bits 0-7 type, 8 object, 9 has attributes, 10 has a
# tag, from 12 on the object's own) followed by the data of the type. Symbols and environments are numbered in order; a later
# reference is only the number.

item <- list(
  nil = 254L, ref = 255L, symbol = 1L, pairs = 2L, closure = 3L, environment = 4L, promise = 5L, call = 6L, special = 7L,
  builtin = 8L, char = 9L, logical = 10L, integer = 13L, double = 14L, complex = 15L, string = 16L, dots = 17L, list = 19L,
  expression = 20L, bytecode = 21L, pointer = 22L, weak = 23L, raw = 24L, s4 = 25L, altrep = 238L, attr_pairs = 239L,
  attr_call = 240L, base_env = 241L, empty_env = 242L, bc_ref = 243L, bc_def = 244L, persistent = 247L, package = 248L,
  namespace = 249L, base_namespace = 250L, missing = 251L, unbound = 252L, global_env = 253L
)

# By type + 1: the least number of bytes of an element; 0 for types that are not vectors.
element_bytes <- replace(numeric(256L), c(10L, 13L, 14L, 15L, 16L, 19L, 20L, 24L) + 1L, c(4, 4, 8, 16, 8, 4, 4, 1))
are_pairs <- replace(logical(256L), c(2L, 3L, 5L, 6L, 17L) + 1L, TRUE)

depth_max <- 400L
attributes_max <- 256L
# The memory that the compact forms of one stream, in which a few bytes stand for any number of elements, may take when expanded.
expanded_bytes_max <- 256 * 2^20
window_bytes <- 8192
small_bytes <- 4096

abort_stream <- function(why) stop(structure(class = c("remotist_stream", "error", "condition"), list(message = why, call = NULL)))

# The state of the reader: `at` is the position of the next byte; `found` what is not plain data in the variable that is being read,
# or NULL; `has_table` whether it contains a data.table without its pointer; `refs` the name of each numbered symbol by its number
# (environments have none).
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
  s$expansion_left <- expanded_bytes_max
  s$base <- -Inf
  s$windows <- vector("list", 4L)
  s$string_base <- -Inf
  s$connection <- NULL
  s
}

close_stream <- function(s) if (!is.null(s$connection)) close(s$connection)

require_bytes <- function(s, n) if (s$at + n - 1 > s$size) abort_stream("it is truncated")

# `n` is forced first, because it may be read from the stream itself.
skip <- function(s, n) {
  force(n)
  require_bytes(s, n)
  s$at <- s$at + n
}

# Words are decoded in windows of some thousand, one for each of the four alignments.
window_at <- function(s, at) {
  if (at < s$base || at >= s$base + window_bytes) {
    s$base <- at
    s$windows <- vector("list", 4L)
  }
  offset <- at - s$base
  alignment <- offset %% 4
  window <- s$windows[[alignment + 1]]
  if (is.null(window)) {
    from <- s$base + alignment
    to <- min(from + window_bytes + 3, s$size)
    window <- readBin(s$bytes[from:to], "integer", window_bytes / 4 + 1, endian = s$endian)
    s$windows[[alignment + 1]] <- window
  }
  list(window, offset %/% 4 + 1)
}

read_word <- function(s) {
  at <- s$at
  if (at + 3 > s$size) abort_stream("it is truncated")
  offset <- at - s$base
  window <- if (offset >= 0 && offset < window_bytes) s$windows[[offset %% 4 + 1]]
  word <- if (is.null(window)) {
    found <- window_at(s, at)
    found[[1L]][[found[[2L]]]]
  } else {
    window[[offset %/% 4 + 1]]
  }
  if (is.na(word)) abort_stream("it contains an item of an unknown type")
  s$at <- at + 4
  word
}

# A length cannot exceed the bytes that are left, and all lists together cannot have more elements than the stream has words.
read_length <- function(s, bytes_each) {
  n <- read_word(s)
  if (n < 0L) abort_stream("a length is negative")
  require_bytes(s, n * bytes_each)
  n
}

count_elements <- function(s, n) {
  s$elements_left <- s$elements_left - n
  if (s$elements_left < 0) abort_stream("it is truncated")
}

read_header <- function(s) {
  if (s$size < 14) abort_stream("it is not an R stream")
  if (identical(s$bytes[1:2], charToRaw("B\n"))) {
    if (.Platform$endian != "little") abort_stream("its byte order is not that of this machine")
    s$endian <- "little"
  } else if (!identical(s$bytes[1:2], charToRaw("X\n"))) {
    abort_stream("it is not an R stream")
  }
  s$at <- 3
  version <- read_word(s)
  skip(s, 8)
  if (version == 3L) skip(s, read_length(s, 1)) else if (version != 2L) abort_stream("its format has an unknown version")
}

mark_not_plain <- function(s, what) if (is.null(s$found)) s$found <- what

mark_inconsistent <- function(s) mark_not_plain(s, "an inconsistent object")

has_bit <- function(flags, bit) flags %/% bit %% 2L == 1L

# Reads one item. The value is used only if everything in it was plain data.
read_item <- function(s, depth) {
  if (depth > depth_max) abort_stream("it is nested too deeply")
  flags <- read_word(s)
  type <- flags %% 256L
  bytes_each <- element_bytes[[type + 1L]]
  if (bytes_each > 0L) {
    if (flags %/% 65536L %% 2L == 1L) mark_not_plain(s, "an S4 object")
    n <- read_length(s, bytes_each)
    value <- if (type == 16L) {
      read_strings(s, n)
    } else if (type == 19L || type == 20L) {
      if (type == 20L) mark_not_plain(s, "code")
      read_list(s, n, depth)
    } else {
      read_vector(s, type, n)
    }
    if (flags %/% 512L %% 2L == 1L) {
      value <- set_attributes(s, value, read_attributes(s, depth + 1L))
    }
    return(value)
  }
  if (type == 254L) return(NULL)
  if (are_pairs[[type + 1L]]) return(read_pairs(s, flags, depth))
  if (type == 238L) return(read_altrep(s, flags, depth))
  skip_not_plain(s, flags, type, depth)
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

# A few bytes by index, many through a connection, which copies them without an index vector.
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
    found <- window_at(s, from)
    found[[1L]][[found[[2L]]]]
  } else {
    readBin(bytes_from(s, from, bytes), what, n, endian = s$endian)
  }
  if (type != 10L) return(value)
  if (min(value, 0L, na.rm = TRUE) < 0L || max(value, 1L, na.rm = TRUE) > 1L) mark_inconsistent(s)
  as.logical(value)
}

# Pairlists are read in a loop, because they can be long.
read_pairs <- function(s, flags, depth) {
  values <- list()
  tags <- character()
  count <- 0L
  depth <- depth + 1L
  repeat {
    type <- flags %% 256L
    if (type == item$call) mark_not_plain(s, "code")
    if (type == item$closure) mark_not_plain(s, "a function")
    if (type == item$promise || type == item$dots) mark_not_plain(s, "a promise")
    if (has_bit(flags, 65536L)) mark_not_plain(s, "an S4 object")
    count_elements(s, 1)
    if (has_bit(flags, 512L)) {
      read_attributes(s, depth)
      mark_not_plain(s, "an internal object")
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
    flags <- read_word(s)
    if (!are_pairs[[flags %% 256L + 1L]]) break
  }
  if (flags %% 256L != item$nil) {
    s$at <- s$at - 4
    read_item(s, depth)
    mark_not_plain(s, "an internal object")
  }
  if (!is.null(s$found)) return(NULL)
  if (any(nzchar(tags))) names(values) <- tags
  as.pairlist(values)
}

# The name of a symbol; NULL when there is no tag.
read_tag <- function(s) {
  flags <- read_word(s)
  type <- flags %% 256L
  if (type == item$nil) return(NULL)
  if (type == item$symbol) return(read_symbol(s))
  if (type != item$ref) abort_stream("it has another item where a name is expected")
  name <- read_ref(s, flags)
  if (is.null(name)) abort_stream("it has another item where a name is expected")
  name
}

read_symbol <- function(s) {
  name <- read_char(s)
  if (is.na(name) || !nzchar(name) || nchar(name, "bytes") > r_name_bytes_max) abort_stream("a name is missing or too long")
  add_ref(s, name)
  name
}

add_ref <- function(s, name) {
  s$ref_count <- s$ref_count + 1L
  if (!is.null(name)) assign(as.character(s$ref_count), name, envir = s$refs)
}

# The name of the symbol that a reference refers to, or NULL when it is not a symbol.
read_ref <- function(s, flags) {
  number <- flags %/% 256L
  if (number == 0L) number <- read_word(s)
  if (number < 1L || number > s$ref_count) abort_stream("it refers to an item that does not exist")
  s$refs[[as.character(number)]]
}

# A named list, or NULL.
read_attributes <- function(s, depth) {
  if (depth > depth_max) abort_stream("it is nested too deeply")
  values <- list()
  names <- character()
  count <- 0L
  repeat {
    flags <- read_word(s)
    if (flags %% 256L == item$nil) break
    if (flags %% 256L != item$pairs || !has_bit(flags, 1024L) || has_bit(flags, 512L)) abort_stream("it has another item where attributes are expected")
    name <- read_tag(s)
    if (is.null(name)) abort_stream("an attribute has no name")
    value <- if (name == data_table_pointer) skip_table_pointer(s, depth) else read_item(s, depth + 1L)
    count <- count + 1L
    if (count > attributes_max) mark_not_plain(s, "an object with too many attributes")
    if (is.null(s$found) && !is.null(value)) {
      values[[length(values) + 1L]] <- value
      names[[length(values)]] <- name
    }
  }
  if (!is.null(s$found) || !length(values)) return(NULL)
  names(values) <- names
  values
}
