# Whether a value's attributes fit its data. R's own code relies on them without looking: a matrix that says it has a
# million rows and has one is a way to read what lies behind it. No method of the value's class is called here.

is_sound <- function(x) {
  attributes <- attributes(x)
  class <- attributes$class
  if (!is.null(class) && !is.character(class)) return(FALSE)
  bare <- unclass(x)
  n <- length(bare)
  if (!attributes_fit(attributes, bare, n)) return(FALSE)
  if ("factor" %in% class && !is_sound_factor(bare, attributes$levels)) return(FALSE)
  if (typeof(bare) == "pairlist") bare <- as.list(bare)
  if (typeof(bare) == "list") {
    for (i in seq_len(n)) if (!is_sound(.subset2(bare, i))) return(FALSE)
    if ("data.frame" %in% class && !is_sound_frame(bare, attributes)) return(FALSE)
  }
  for (name in setdiff(names(attributes), c("names", "dim", "class", "row.names"))) if (!is_sound(attributes[[name]])) return(FALSE)
  TRUE
}

attributes_fit <- function(attributes, bare, n) {
  names <- attributes$names
  if (!is.null(names) && (!is.character(names) || length(names) != n)) return(FALSE)
  dim <- attributes$dim
  if (!is.null(dim)) {
    if (!is.integer(dim) && !is.double(dim) || !length(dim) || anyNA(dim) || any(dim < 0) || prod(dim) != n) return(FALSE)
    labels <- attributes$dimnames
    if (!is.null(labels)) {
      if (typeof(labels) != "list" || length(labels) != length(dim)) return(FALSE)
      fits <- function(i) is.null(.subset2(labels, i)) || length(unclass(.subset2(labels, i))) == dim[[i]]
      if (!all(vapply(seq_along(dim), fits, NA))) return(FALSE)
    }
  } else if (!is.null(attributes$dimnames)) {
    return(FALSE)
  }
  tsp <- attributes$tsp
  is.null(tsp) || is.double(tsp) && length(tsp) == 3L && !anyNA(tsp)
}

is_sound_factor <- function(bare, levels) {
  if (!is.integer(bare) || !is.null(levels) && !is.character(levels)) return(FALSE)
  bare <- bare[!is.na(bare)]
  !length(bare) || min(bare) >= 1L && max(bare) <= length(levels)
}

is_sound_frame <- function(bare, attributes) {
  rows <- attributes$row.names
  if (!is.null(rows) && !is.character(rows) && !is.numeric(rows)) return(FALSE)
  if (length(bare) && is.null(attributes$names)) return(FALSE)
  count <- length(rows)
  for (i in seq_along(bare)) {
    column <- .subset2(bare, i)
    dim <- attr(column, "dim", exact = TRUE)
    height <- if (!is.null(dim)) {
      dim[[1L]]
    } else if (inherits(column, "data.frame")) {
      length(attributes(column)$row.names)
    } else if (inherits(column, "POSIXlt")) {
      count
    } else {
      length(unclass(column))
    }
    if (height != count) return(FALSE)
  }
  TRUE
}
