# Checks that attributes are consistent with the data that they are set on. R's C code relies on them without a check: with a
# dim attribute of a million rows on a vector of one element, it would read beyond the vector. Each attribute that R itself
# interprets must have the type and the length that R gives it, and no attributes of its own; any other attribute is a value
# like any other. No method of a class is called here.

# The value with its attributes, if they are consistent with it.
set_attributes <- function(s, value, attributes) {
  if (!length(attributes) || !is.null(s$found)) return(value)
  # data.table uses the row numbers in its index without a bounds check, and builds the index again when it is missing.
  if (is_bare_text(attributes[["class"]]) && "data.table" %in% attributes[["class"]]) attributes <- attributes[names(attributes) != "index"]
  if (are_consistent(s, value, attributes)) attributes(value) <- attributes else mark_inconsistent(s)
  value
}

# `value` has no attributes yet; `attributes` is the named list that was read.
are_consistent <- function(s, value, attributes) {
  if (anyDuplicated(names(attributes))) return(FALSE)
  # In the order of the rules: class and dim come first, because other rules rely on them.
  for (name in intersect(names(attribute_rules), names(attributes))) {
    if (!attribute_rules[[name]](attributes[[name]], value, attributes, s)) return(FALSE)
  }
  for (name in intersect(names(class_rules), attributes[["class"]])) {
    if (!class_rules[[name]](value, attributes, s)) return(FALSE)
  }
  TRUE
}

# Classes with a print() method that has effects: it runs code in the text of a bibentry (\Sexpr), calls the functions that a
# trellis names, opens files, URLs, viewers or browsers, or restores graphics; or that refer to state of the R session. The first
# two lines are the classes of R's own packages, the last line those of common others.
classes_with_effects <- c(
  "bibentry", "citation", "srcref", "srcfile", "help_files_with_topic", "hsearch", "vignette", "browseVignettes", "news_db", "packageIQR",
  "packageInfo", "libraryIQR", "recordedplot", "connection", "hashtab", "DLLInfo",
  "trellis", "html", "htmlwidget", "shiny.tag", "shiny.tag.list"
)

# R looks up functions by these names.
known_contrasts <- c("contr.treatment", "contr.sum", "contr.helmert", "contr.poly", "contr.SAS")

# Strings without attributes; some may be marked as bytes.
is_text <- function(x) is.character(x) && is.null(attributes(x))

# Strings without attributes that every function of R accepts.
is_bare_text <- function(x) is_text(x) && !any(Encoding(x) == "bytes")

# The same for names that R looks up or prints, where it raises an error for strings marked as bytes.
is_label <- function(x, s) {
  if (is_text(x) && !is_bare_text(x)) mark_not_plain(s, "an object with names that are not valid UTF-8 (the script can convert them with iconv())")
  is_bare_text(x)
}

is_bare_string <- function(x) is_bare_text(x) && length(x) == 1L && !is.na(x)

is_bare_number <- function(x) is.null(attributes(x)) && typeof(x) %in% c("integer", "double")

# R gives names to the years of a POSIXlt with names, and levels may have names.
without_names <- function(x) if (identical(names(attributes(x)), "names")) unname(x) else x

first_extent <- function(value, attributes) if (is.null(attributes[["dim"]])) length(value) else attributes[["dim"]][[1L]]

attribute_rules <- list(
  class = function(x, value, attributes, s) {
    if (!is_bare_text(x) || !length(x) || anyNA(x)) return(FALSE)
    acting <- intersect(x, classes_with_effects)
    if (length(acting)) mark_not_plain(s, paste0("an object of class ", acting[[1L]], ", whose print method has effects"))
    !length(acting)
  },
  dim = function(x, value, attributes, s) {
    valid <- is.integer(x) && is.null(attributes(x)) && length(x) > 0L && !anyNA(x) && all(x >= 0L) && prod(x) == length(value)
    # Rows or columns without elements take no bytes in the stream, but memory when they are printed.
    valid && (length(value) > 0L || may_expand(s, 8 * sum(as.double(x))))
  },
  names = function(x, value, attributes, s) {
    (if (is.list(value) || !is.null(attributes[["dim"]])) is_label(x, s) else is_text(x)) && length(x) == length(value)
  },
  dimnames = function(x, value, attributes, s) {
    dim <- attributes[["dim"]]
    if (typeof(x) != "list" || is.object(x) || !is.integer(dim) || length(x) != length(dim)) return(FALSE)
    own <- attributes(x)
    if (!is.null(own) && (!identical(names(own), "names") || !is_label(own$names, s))) return(FALSE)
    fits <- function(i) is.null(x[[i]]) || is_label(x[[i]], s) && length(x[[i]]) == dim[[i]]
    all(vapply(seq_along(dim), fits, NA))
  },
  row.names = function(x, value, attributes, s) {
    if (is.character(x)) return(is_label(x, s) && !anyNA(x) && !anyDuplicated(x))
    if (!is.integer(x) || !is.null(attributes(x))) return(FALSE)
    # c(NA, n) stands for n row names. Columns of a data frame have n elements; without columns, n is limited.
    if (length(x) == 2L && is.na(x[[1L]])) {
      has_columns <- length(value) > 0L && "data.frame" %in% attributes[["class"]]
      return(!is.na(x[[2L]]) && (has_columns || may_expand(s, 4 * abs(x[[2L]]))))
    }
    !anyNA(x)
  },
  tsp = function(x, value, attributes, s) {
    if (!is.double(x) || !is.null(attributes(x)) || length(x) != 3L || !all(is.finite(x))) return(FALSE)
    rows <- first_extent(value, attributes)
    rows > 0L && x[[3L]] > 0 && abs(x[[2L]] - x[[1L]] - (rows - 1) / x[[3L]]) < 1e-5
  },
  comment = function(x, value, attributes, s) is_bare_text(x),
  tzone = function(x, value, attributes, s) {
    if (!is_bare_text(x) || !length(x) || anyNA(x)) return(FALSE)
    # The C library opens the file of that name.
    is_path <- any(grepl("^:?[/~]|^[A-Za-z]:|\\.\\.|\\\\", x))
    if (is_path) mark_not_plain(s, "a time whose time zone is a file path")
    !is_path
  }
)

is_time <- function(value, attributes, s) is_bare_number(value)

# A matrix of numbers, or the name of one of R's own functions.
are_contrasts <- function(x) {
  is.null(x) || is_bare_string(x) && x %in% known_contrasts || !is.object(x) && typeof(x) %in% c("integer", "double") && is.matrix(x)
}

class_rules <- list(
  factor = function(value, attributes, s) {
    levels <- attributes[["levels"]]
    if (!is.integer(value) || !is.null(levels) && !is_text(without_names(levels)) || anyDuplicated(levels)) return(FALSE)
    if (!are_contrasts(attributes[["contrasts"]])) {
      mark_not_plain(s, "a factor whose contrasts name an unknown function")
      return(FALSE)
    }
    max(value, 0L, na.rm = TRUE) <= length(levels) && min(value, 1L, na.rm = TRUE) >= 1L
  },
  data.frame = function(value, attributes, s) {
    rows <- attributes[["row.names"]]
    if (!is.list(value) || is.null(rows) || length(value) && is.null(attributes[["names"]])) return(FALSE)
    count <- if (length(rows) == 2L && is.na(rows[[1L]])) abs(rows[[2L]]) else length(rows)
    for (i in seq_along(value)) if (row_count(.subset2(value, i)) != count) return(FALSE)
    TRUE
  },
  data.table = function(value, attributes, s) {
    # data.table takes the length of a column as the number of rows.
    if (!("data.frame" %in% attributes[["class"]])) return(FALSE)
    for (column in value) {
      if (!is.null(attr(column, "dim", exact = TRUE)) || length(unclass(column)) != length(unclass(value[[1L]]))) return(FALSE)
    }
    sorted <- attributes[["sorted"]]
    is.null(sorted) || is_bare_text(sorted) && !anyNA(sorted) && !anyDuplicated(sorted) && all(sorted %in% attributes[["names"]])
  },
  Date = is_time,
  POSIXct = is_time,
  difftime = function(value, attributes, s) {
    is_bare_number(value) && is_bare_string(attributes[["units"]]) && attributes[["units"]] %in% c("secs", "mins", "hours", "days", "weeks")
  },
  POSIXlt = function(value, attributes, s) {
    names <- attributes[["names"]]
    parts <- c("sec", "min", "hour", "mday", "mon", "year", "wday", "yday", "isdst", "zone", "gmtoff")
    if (!is.list(value) || length(value) < 9L || !identical(names, parts[seq_along(value)])) return(FALSE)
    for (i in seq_along(value)) if (!(if (i == 10L) is_bare_text(value[[i]]) else is_bare_number(without_names(value[[i]])))) return(FALSE)
    # Since R 4.3 a component may be shorter and is recycled, unless the attribute balanced is TRUE.
    long <- max(lengths(value))
    balanced <- attributes[["balanced"]]
    if (!is.null(balanced) && !(is.logical(balanced) && is.null(attributes(balanced)) && length(balanced) == 1L)) return(FALSE)
    all(lengths(value) == long) || long > 0L && all(lengths(value) > 0L) && !isTRUE(balanced)
  }
)

# The number of rows of a column.
row_count <- function(column) {
  dim <- attr(column, "dim", exact = TRUE)
  class <- attr(column, "class", exact = TRUE)
  if (!is.null(dim)) return(dim[[1L]])
  if ("data.frame" %in% class) return(.row_names_info(column, 2L))
  if ("POSIXlt" %in% class) return(max(lengths(unclass(column))))
  length(unclass(column))
}
