# Compares two results of a program, and two folders that it worked in, and says in words where they differ.
#
#   Rscript compare.R A.rds B.rds [FOLDER_A FOLDER_B]     prints the differences; status 1 if there are any
#
# or source() it and call
#
#   value_differences(a, b)     of two R values, usually the named lists of all globals
#   folder_differences(a, b)    of the names and the bytes of all files below two folders
#
# both of which yield a character vector, empty when nothing differs.
#
# Values are equal when no program could tell them apart, save by address: numbers to the last bit (NA is not NaN, 0 is not
# -0), environments by what they hold and by which of them are the same one, functions by their formals, body and
# environment. Not looked at: source references, byte code, the order of attributes, the target of external pointers, and
# what S4 generics keep only to be faster. An environment's promises are evaluated; one that fails is compared as code.

not_compared_attributes <- c("srcref", "srcfile", "wholeSrcref", ".internal.selfref")
not_compared_bindings <- c(".AllMTable", ".SigLength")
differences_max <- 20L

# The values still to be compared are kept in a stack, not in frames: a list linked through environments may be long.
value_differences <- function(a, b, name = "globals") {
  found <- character(0)
  stack <- list(list(a, b, name))
  top <- 1L
  partner_of_a <- utils::hashtab("address")
  partner_of_b <- utils::hashtab("address")

  differ <- function(path, ...) found[length(found) + 1L] <<- paste0(path, ": ", ...)
  later <- function(a, b, path) {
    if (nchar(path) > 200L) path <- paste0(substr(path, 1L, 60L), " ... ", substr(path, nchar(path) - 100L, nchar(path)))
    top <<- top + 1L
    stack[[top]] <<- list(a, b, path)
  }

  # Whether these two still have to be compared.
  meet <- function(a, b, path) {
    known <- utils::gethash(partner_of_a, a)
    known_b <- utils::gethash(partner_of_b, b)
    if (is.null(known) && is.null(known_b)) {
      utils::sethash(partner_of_a, a, b)
      utils::sethash(partner_of_b, b, a)
      return(TRUE)
    }
    if (!identical(known, b)) differ(path, "the same environment as elsewhere on one side alone")
    FALSE
  }

  compare_environments <- function(a, b, path) {
    if (is_shared(a) || is_shared(b)) return(differ(path, says(a), " and ", says(b)))
    if (!meet(a, b, path)) return(NULL)
    names_a <- compared(ls(a, all.names = TRUE), not_compared_bindings)
    names_b <- compared(ls(b, all.names = TRUE), not_compared_bindings)
    compare_names(names_a, names_b, path)
    if (environmentIsLocked(a) != environmentIsLocked(b)) differ(path, "locked on one side alone")
    later(parent.env(a), parent.env(b), paste0("parent.env(", path, ")"))
    for (each in rev(intersect(names_a, names_b))) {
      if (bindingIsLocked(each, a) != bindingIsLocked(each, b)) differ(path, each, " is locked on one side alone")
      later(bound_in(a, each), bound_in(b, each), path)
    }
  }

  compare_names <- function(a, b, path) {
    if (identical(a, b)) return(NULL)
    for (each in setdiff(a, b)) differ(path, each, " is in the first alone")
    for (each in setdiff(b, a)) differ(path, each, " is in the second alone")
  }

  compare_attributes <- function(a, b, path) {
    if (is.null(a) && is.null(b)) return(NULL)
    names_a <- compared(names(a), not_compared_attributes)
    names_b <- compared(names(b), not_compared_attributes)
    compare_names(names_a, names_b, paste0("attributes of ", path))
    for (each in intersect(names_a, names_b)) {
      later(a[[each]], b[[each]], if (each == ".xData") path else paste0("attr(", path, ", \"", each, "\")"))
    }
  }

  compare_elements <- function(a, b, path, labels) {
    if (length(a) != length(b)) return(differ(path, "length ", length(a), " and ", length(b)))
    if (is.null(labels)) labels <- character(length(a))
    for (i in rev(seq_along(a))) {
      if (same(a[i], b[i])) next
      label <- paste0(path, if (nzchar(labels[i]) && !is.na(labels[i])) paste0("$", labels[i]) else paste0("[[", i, "]]"))
      if (is_empty(a[i]) || is_empty(b[i])) differ(label, "empty on one side alone") else later(a[[i]], b[[i]], label)
    }
  }

  compare <- function(a, b, path) {
    if (same(a, b)) return(NULL)
    if (typeof(a) != typeof(b)) return(differ(path, typeof(a), " and ", typeof(b)))
    compare_attributes(attributes(a), attributes(b), path)
    switch(typeof(a),
      environment = compare_environments(a, b, path),
      closure = {
        later(environment(a), environment(b), paste0("environment(", path, ")"))
        later(body(a), body(b), paste0("body(", path, ")"))
        compare_elements(as.list(formals(a)), as.list(formals(b)), paste0("formals(", path, ")"), names(formals(a)))
      },
      list = , expression = compare_elements(bare(a), bare(b), path, names_of(a)),
      language = , pairlist = , "..." = compare_elements(as.list(a), as.list(b), path, names_of(a)),
      S4 = , externalptr = , weakref = , bytecode = NULL,
      symbol = , builtin = , special = differ(path, says(a), " and ", says(b)),
      {
        difference <- vector_difference(bare(a), bare(b))
        if (!is.null(difference)) differ(path, difference)
      }
    )
  }

  while (top > 0L && length(found) < differences_max) {
    pair <- stack[[top]]
    stack[[top]] <- NULL
    top <- top - 1L
    compare(pair[[1L]], pair[[2L]], pair[[3L]])
  }
  found
}

# TRUE tells that two values are equal; FALSE, that their parts have to be looked at.
same <- function(a, b) {
  identical(a, b, num.eq = FALSE, single.NA = FALSE, ignore.bytecode = TRUE, ignore.environment = FALSE, ignore.srcref = TRUE,
            extptr.as.ref = TRUE)
}

compared <- function(names, but) names[!names %in% but]

# A list of one argument that was left out, as in x[, 1].
is_empty <- function(x) identical(unname(x), list(quote(expr = )))

bare <- function(x) {
  x <- unclass(x)
  attributes(x) <- NULL
  x
}

names_of <- function(x) attr(x, "names", exact = TRUE) %||% if (is.call(x)) names(as.list(x))

# Environments that are no part of a program's state: there is one of each in a process.
is_shared <- function(x) {
  identical(x, globalenv()) || identical(x, baseenv()) || identical(x, emptyenv()) || isNamespace(x) ||
    !is.null(attr(x, "path", exact = TRUE))
}

# In a list, since a missing argument cannot be the value of a call.
bound_in <- function(environment, name) {
  if (bindingIsActive(as.name(name), environment)) {
    value <- list(activeBindingFunction(as.name(name), environment))
  } else if (name == "...") {
    value <- tryCatch(list(eval(quote(list(...)), environment)), error = function(e) list(NULL))
  } else {
    value <- tryCatch(mget(name, envir = environment),
                      error = function(e) list(eval(call("substitute", as.name(name)), environment)))
  }
  names(value) <- name
  value
}

vector_difference <- function(a, b) {
  if (length(a) != length(b)) return(paste0("length ", length(a), " and ", length(b)))
  differing <- which(!vapply(seq_along(a), function(i) same(a[i], b[i]), NA))
  if (length(differing) == 0L) return(NULL)
  first <- differing[1L]
  paste0(if (length(a) > 1L) paste0("element ", first, ": "), says(a[first]), " and ", says(b[first]),
         if (length(differing) > 1L) paste0(" (", length(differing), " of ", length(a), " differ)"))
}

says <- function(x) {
  if (is.environment(x)) return(if (nzchar(environmentName(x))) environmentName(x) else "an environment")
  if (is.double(x) && !is.na(x)) return(sprintf("%.17g", x))
  text <- paste(deparse(x, nlines = 2L), collapse = " ")
  if (nchar(text) > 80L) paste0(substr(text, 1L, 77L), "...") else text
}

folder_differences <- function(a, b) {
  files <- function(folder) list.files(folder, all.files = TRUE, recursive = TRUE, include.dirs = TRUE, no.. = TRUE)
  in_a <- files(a)
  in_b <- files(b)
  found <- c(sprintf("file %s is in the first alone", setdiff(in_a, in_b)),
             sprintf("file %s is in the second alone", setdiff(in_b, in_a)))
  for (each in intersect(in_a, in_b)) {
    difference <- file_difference(file.path(a, each), file.path(b, each))
    if (!is.null(difference)) found <- c(found, paste0("file ", each, ": ", difference))
  }
  found
}

file_difference <- function(a, b) {
  if (dir.exists(a) != dir.exists(b)) return("a folder on one side alone")
  if (dir.exists(a)) return(NULL)
  bytes_a <- readBin(a, "raw", file.size(a))
  bytes_b <- readBin(b, "raw", file.size(b))
  if (identical(bytes_a, bytes_b)) return(NULL)
  both <- seq_len(min(length(bytes_a), length(bytes_b)))
  at <- c(which(bytes_a[both] != bytes_b[both]), length(both) + 1L)[1L]
  line <- sum(bytes_a[seq_len(at - 1L)] == as.raw(10L)) + 1L
  sprintf("%d and %d bytes, differs from byte %d, line %d", length(bytes_a), length(bytes_b), at, line)
}

if (sys.nframe() == 0L) {
  given <- commandArgs(trailingOnly = TRUE)
  if (!length(given) %in% c(2L, 4L)) stop("usage: compare.R A.rds B.rds [FOLDER_A FOLDER_B]")
  differences <- value_differences(readRDS(given[1L]), readRDS(given[2L]))
  if (length(given) == 4L) differences <- c(differences, folder_differences(given[3L], given[4L]))
  writeLines(differences)
  quit(status = as.integer(length(differences) > 0L))
}
