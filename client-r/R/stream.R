# R's serialization format, read without R's own reader. A result comes from a machine of somebody unknown, and to
# unserialize it is to let its bytes choose what R does: load packages, make environments, functions and promises, take
# memory. So the stream is first walked here, byte by byte. Only elements that are plain data (vectors, lists and their
# attributes) are given to unserialize(), in a stream that is put together anew without the others.
#
# Format (versions 2 and 3): "X\n" (numbers big end first) or "B\n" (as they lie in the writer's memory, here little end
# first), three numbers, in version 3 the writer's encoding, then one item. An item is a word of flags (bits 0-7 type, 8 object, 9 has attributes, 10 has a tag, from 12 on the object's own) and what the type
# brings. Symbols and environments are numbered as they come; a later one is only a number.

item <- list(
  nil = 254L, ref = 255L, symbol = 1L, pairs = 2L, closure = 3L, environment = 4L, promise = 5L, call = 6L, special = 7L,
  builtin = 8L, char = 9L, logical = 10L, integer = 13L, double = 14L, complex = 15L, string = 16L, dots = 17L, list = 19L,
  expression = 20L, bytecode = 21L, pointer = 22L, weak = 23L, raw = 24L, s4 = 25L, altrep = 238L, attr_pairs = 239L,
  attr_call = 240L, base_env = 241L, empty_env = 242L, bc_ref = 243L, bc_def = 244L, persistent = 247L, package = 248L,
  namespace = 249L, base_namespace = 250L, missing = 251L, unbound = 252L, global_env = 253L
)
depth_most <- 400L

damaged <- function(why) stop(structure(class = c("remotist_stream", "error", "condition"), list(message = why, call = NULL)))

# Where the walk stands: `at` is the next byte, `found` what is not plain data in the element that is being walked,
# `refs` for each numbered thing where its item lies, or NULL when it is no symbol.
new_stream <- function(bytes) {
  s <- new.env(parent = emptyenv())
  s$bytes <- bytes
  s$size <- length(bytes)
  s$at <- 1
  s$endian <- "big"
  s$found <- NULL
  s$refs <- list()
  s$events <- list()
  s
}

need <- function(s, n) if (s$at + n - 1 > s$size) damaged("it ends too early")

take_word <- function(s) {
  need(s, 4)
  at <- s$at
  four <- as.integer(s$bytes[if (s$endian == "big") at:(at + 3) else (at + 3):at])
  s$at <- at + 4
  ((four[[1L]] * 256 + four[[2L]]) * 256 + four[[3L]]) * 256 + four[[4L]]
}

# Forced first: the length itself may still have to be read from the stream.
skip <- function(s, n) {
  force(n)
  need(s, n)
  s$at <- s$at + n
}

# Lengths of 2^31 and more come as -1 and two words. None can be more than there are bytes left.
take_length <- function(s, bytes_each) {
  n <- take_word(s)
  if (n == 4294967295) n <- take_word(s) * 4294967296 + take_word(s) else if (n >= 2147483648) damaged("a length is negative")
  need(s, n * bytes_each)
  n
}

read_header <- function(s) {
  if (s$size < 14) damaged("it is not an R stream")
  if (identical(s$bytes[1:2], charToRaw("B\n"))) {
    # R would read it with its own end first, and see another stream than the one that is walked here.
    if (.Platform$endian != "little") damaged("it was written for another kind of machine")
    s$endian <- "little"
  } else if (!identical(s$bytes[1:2], charToRaw("X\n"))) {
    damaged("it is not an R stream")
  }
  s$at <- 3
  version <- take_word(s)
  skip(s, 8)
  if (version == 3) skip(s, take_length(s, 1)) else if (version != 2) damaged("it has a version that is not known")
  s$header <- s$bytes[seq_len(s$at - 1)]
}

not_plain <- function(s, what) if (is.null(s$found)) s$found <- what

add_ref <- function(s, from, to) {
  s$refs[length(s$refs) + 1L] <- list(if (!is.null(from)) c(from, to))
  if (!is.null(from)) s$events[[length(s$events) + 1L]] <- c(from, to, length(s$refs), 1)
}

# A string by itself is no value: it stands in symbols and vectors of strings.
walk_char <- function(s) {
  flags <- take_word(s)
  if (flags %% 256 != item$char || flags %/% 512 %% 2 == 1) damaged("where a string should be is something else")
  n <- take_word(s)
  if (n != 4294967295) skip(s, n)
}

walk_strings <- function(s, n) {
  force(n)
  bytes <- s$bytes
  size <- s$size
  at <- s$at
  is_char <- as.raw(item$char)
  has_attributes <- as.raw(2L)
  # Of eight bytes: the first two of the flags from the little end, then the length from the big end.
  places <- if (s$endian == "big") c(4L, 3L, 5:8) else c(1L, 2L, 8:5)
  done <- 0
  while (done < n) {
    if (at + 7 > size) damaged("it ends too early")
    six <- bytes[at - 1 + places]
    if (six[[1L]] != is_char || (six[[2L]] & has_attributes) != 0L) damaged("where a string should be is something else")
    w <- as.integer(six)
    length <- ((w[[3L]] * 256 + w[[4L]]) * 256 + w[[5L]]) * 256 + w[[6L]]
    at <- at + 8
    if (length != 4294967295) at <- at + length
    done <- done + 1
  }
  s$at <- at
  need(s, 0)
}

# A symbol's name; NULL where there is no tag.
walk_tag <- function(s) {
  from <- s$at
  flags <- take_word(s)
  type <- flags %% 256
  if (type == item$nil) return(NULL)
  if (type == item$symbol) {
    walk_char(s)
    add_ref(s, from, s$at - 1)
    return(symbol_name(s, from))
  }
  if (type != item$ref) damaged("where a name should be is something else")
  span <- walk_ref(s, from, flags)
  if (is.null(span)) damaged("where a name should be is something else")
  symbol_name(s, span[[1L]])
}

# From the item of a symbol: flags, flags of the string, its length, its bytes.
symbol_name <- function(s, from) {
  four <- from + if (s$endian == "big") 8:11 else 11:8
  n <- sum(as.integer(s$bytes[four]) * c(16777216, 65536, 256, 1))
  if (n == 0 || n > 10000) return("")
  text <- s$bytes[from + 11 + seq_len(n)]
  if (any(text == as.raw(0L))) "" else rawToChar(text)
}

# Where the symbol's item lies that a number stands for, or NULL when it is no symbol.
walk_ref <- function(s, from, flags) {
  number <- flags %/% 256
  if (number == 0) number <- take_word(s)
  if (number < 1 || number > length(s$refs)) damaged("it refers to something that did not come")
  s$events[[length(s$events) + 1L]] <- c(from, s$at - 1, number, 0)
  s$refs[[number]]
}

walk_attributes <- function(s, depth) {
  repeat {
    flags <- take_word(s)
    type <- flags %% 256
    if (type == item$nil) return(invisible())
    if (type != item$pairs || flags %/% 1024 %% 2 != 1) damaged("where attributes should be is something else")
    if (flags %/% 512 %% 2 == 1) walk_attributes(s, depth + 1L)
    if (is.null(walk_tag(s))) damaged("an attribute has no name")
    walk_item(s, depth + 1L)
  }
}

# Walks one item and returns its type: of a compact vector, that of the vector.
walk_item <- function(s, depth) {
  if (depth > depth_most) damaged("it is nested too deeply")
  from <- s$at
  flags <- take_word(s)
  type <- as.integer(flags %% 256)
  has_attributes <- flags %/% 512 %% 2 == 1
  bytes_each <- switch(as.character(type), "10" = , "13" = 4, "14" = 8, "15" = 16, "24" = 1, "16" = 8, "19" = , "20" = 4)
  if (!is.null(bytes_each)) {
    n <- take_length(s, bytes_each)
    if (flags %/% 65536 %% 2 == 1) not_plain(s, "an S4 object")
    if (type == item$string) {
      walk_strings(s, n)
    } else if (type == item$list || type == item$expression) {
      if (type == item$expression) not_plain(s, "code")
      done <- 0
      while (done < n) {
        walk_item(s, depth + 1L)
        done <- done + 1
      }
    } else {
      skip(s, n * bytes_each)
    }
    if (has_attributes) walk_attributes(s, depth)
    return(type)
  }
  if (type == item$nil) return(type)
  if (type %in% c(item$pairs, item$call, item$closure, item$promise, item$dots)) {
    s$at <- from
    walk_pairs(s, depth)
  } else if (type == item$altrep) {
    return(walk_altrep(s, depth))
  } else {
    walk_unplain(s, from, flags, type, has_attributes, depth)
  }
  type
}

# Pairs are walked in a loop: their chains are long.
walk_pairs <- function(s, depth) {
  repeat {
    flags <- take_word(s)
    type <- flags %% 256
    if (type == item$call) not_plain(s, "code")
    if (type == item$closure) not_plain(s, "a function")
    if (type == item$promise || type == item$dots) not_plain(s, "a promise")
    if (flags %/% 512 %% 2 == 1) walk_attributes(s, depth + 1L)
    if (flags %/% 1024 %% 2 == 1) {
      if (type == item$pairs || type == item$call || type == item$dots) walk_tag(s) else walk_item(s, depth + 1L)
    }
    walk_item(s, depth + 1L)
    need(s, 4)
    next_type <- as.integer(s$bytes[[if (s$endian == "big") s$at + 3 else s$at]])
    if (!next_type %in% c(item$pairs, item$call, item$closure, item$promise, item$dots)) break
  }
  if (!identical(walk_item(s, depth + 1L), item$nil)) not_plain(s, "an internal object")
}

# What R's own reader must not see without trust. It is walked all the same, to find where it ends.
walk_unplain <- function(s, from, flags, type, has_attributes, depth) {
  environments <- c(item$global_env, item$base_env, item$empty_env, item$base_namespace)
  if (type == item$ref) {
    not_plain(s, if (is.null(walk_ref(s, from, flags))) "an environment" else "code")
  } else if (type == item$symbol) {
    walk_char(s)
    add_ref(s, from, s$at - 1)
    not_plain(s, "code")
  } else if (type %in% environments) {
    not_plain(s, "an environment")
  } else if (type == item$missing || type == item$unbound) {
    not_plain(s, "code")
  } else if (type == item$environment) {
    not_plain(s, "an environment")
    skip(s, 4)
    add_ref(s, NULL)
    for (part in 1:4) walk_item(s, depth + 1L)
  } else if (type %in% c(item$namespace, item$package, item$persistent)) {
    not_plain(s, "an environment")
    skip(s, 4)
    walk_strings(s, take_length(s, 8))
    add_ref(s, NULL)
  } else if (type == item$pointer || type == item$weak) {
    not_plain(s, "a pointer")
    add_ref(s, NULL)
    if (type == item$pointer) for (part in 1:2) walk_item(s, depth + 1L)
    if (has_attributes) walk_attributes(s, depth)
  } else if (type == item$special || type == item$builtin) {
    not_plain(s, "a function")
    skip(s, take_length(s, 1))
    if (has_attributes) walk_attributes(s, depth)
  } else if (type == item$s4) {
    not_plain(s, "an S4 object")
    if (has_attributes) walk_attributes(s, depth)
  } else if (type == item$bytecode) {
    not_plain(s, "a function")
    skip(s, 4)
    walk_bytecode(s, depth)
    if (has_attributes) walk_attributes(s, depth)
  } else {
    damaged("it holds something that is not known")
  }
}
