# What is in a stream. Of a result the variables: a named list, of which only what is plain data is made into R objects.

# `values`: the plain variables by name. `left_out`: for each other one what it is. `tables`: the names of the plain ones that
# are data.tables, or hold some, without their pointers. Signals remotist_stream when the stream is no such list.
read_result <- function(bytes) {
  with_stream(bytes, function(s) {
    flags <- take_word(s)
    if (flags %% 256L != item$list || has_bit(flags, 65536L)) damaged("it is not a list of variables")
    n <- take_length(s, 4)
    count_elements(s, n)
    kinds <- rep(NA_character_, n)
    values <- vector("list", n)
    has_table <- logical(n)
    for (i in seq_len(n)) {
      s$found <- NULL
      s$has_table <- FALSE
      value <- read_item(s, 1L)
      if (!is.null(s$found)) kinds[[i]] <- s$found else if (!is.null(value)) values[[i]] <- value
      has_table[[i]] <- s$has_table
    }
    names <- read_names(s, has_bit(flags, 512L), n)
    names(values) <- names
    names(kinds) <- names
    list(values = values[is.na(kinds)], left_out = kinds[!is.na(kinds)], tables = names[is.na(kinds) & has_table])
  })
}

# One value by itself. A list of `value` when it is plain data, else of `left_out`, what it is.
read_value <- function(bytes) {
  with_stream(bytes, function(s) {
    value <- read_item(s, 1L)
    if (is.null(s$found)) list(value = value) else list(left_out = s$found)
  })
}

# All of the stream, or nothing; whatever goes wrong is the stream's fault.
with_stream <- function(bytes, read) {
  s <- new_stream(bytes)
  on.exit(close_stream(s))
  tryCatch(
    {
      read_header(s)
      result <- read(s)
      if (s$at != s$size + 1) damaged("it goes on after its end")
      result
    },
    remotist_stream = function(e) stop(e),
    stackOverflowError = function(e) damaged("it is nested too deeply"),
    error = function(e) damaged(conditionMessage(e))
  )
}

# The list's only attribute.
read_names <- function(s, has_attributes, n) {
  if (n == 0L && !has_attributes) return(character())
  s$found <- NULL
  attributes <- if (has_attributes) read_attributes(s, 1L)
  names <- attributes[["names"]]
  if (!is.null(s$found) || length(attributes) != 1L || !is_text(names)) damaged("its variables have no names")
  if (!is_bare_text(names)) damaged("the name of a variable is not valid UTF-8")
  if (length(names) != n || anyNA(names)) damaged("its variables have no names")
  names <- enc2utf8(names)
  if (!all(validUTF8(names)) || anyDuplicated(names)) damaged("its variables have names that cannot be")
  names
}
