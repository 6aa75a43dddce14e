# Reads results and values of watched variables from streams. Only plain data becomes R objects.

# The stream of a result is a named list of variables. Returns `values`, the plain variables by name; `omitted`, for each other
# variable what it is or contains; `tables`, the names of the plain ones that are or contain data.tables, which lack their
# pointers. Signals remotist_stream when the stream is not such a list.
read_result <- function(bytes) {
  with_stream(bytes, function(s) {
    flags <- read_word(s)
    if (flags %% 256L != item$list || has_bit(flags, 65536L)) abort_stream("it is not a list of variables")
    n <- read_length(s, 4)
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
    list(values = values[is.na(kinds)], omitted = kinds[!is.na(kinds)], tables = names[is.na(kinds) & has_table])
  })
}

# The stream of a single value. Returns a list of `value` when it is plain data, else of `omitted`, what it is or contains.
read_value <- function(bytes) {
  with_stream(bytes, function(s) {
    value <- read_item(s, 1L)
    if (is.null(s$found)) list(value = value) else list(omitted = s$found)
  })
}

# Reads a whole stream. Any error is reported as a fault of the stream.
with_stream <- function(bytes, read) {
  s <- new_stream(bytes)
  on.exit(close_stream(s))
  tryCatch(
    {
      read_header(s)
      result <- read(s)
      if (s$at != s$size + 1) abort_stream("data follows its end")
      result
    },
    remotist_stream = function(e) stop(e),
    stackOverflowError = function(e) abort_stream("it is nested too deeply"),
    error = function(e) abort_stream(conditionMessage(e))
  )
}

# The names of the variables, the only attribute of the list.
read_names <- function(s, has_attributes, n) {
  if (n == 0L && !has_attributes) return(character())
  s$found <- NULL
  attributes <- if (has_attributes) read_attributes(s, 1L)
  names <- attributes[["names"]]
  if (!is.null(s$found) || length(attributes) != 1L || !is_text(names)) abort_stream("its variables have no names")
  if (!is_bare_text(names)) abort_stream("the name of a variable is not valid UTF-8")
  if (length(names) != n || anyNA(names)) abort_stream("its variables have no names")
  names <- enc2utf8(names)
  if (!all(validUTF8(names)) || anyDuplicated(names)) abort_stream("the name of a variable is invalid or occurs twice")
  names
}
