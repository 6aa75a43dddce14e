# Writes nested data as JSON and parses it back with a parser that recurses, then queries the result.
set.seed(8259)
to_json <- function(x) {
  if (is.null(x)) return("null")
  if (is.list(x)) {
    parts <- vapply(x, to_json, "")
    if (is.null(names(x))) return(paste0("[", paste(parts, collapse = ","), "]"))
    return(paste0("{", paste0("\"", names(x), "\":", parts, collapse = ","), "}"))
  }
  if (is.character(x)) return(paste0("\"", gsub("\"", "\\\\\"", x), "\""))
  if (is.logical(x)) tolower(x) else format(x, digits = 15)
}

from_json <- function(text) {
  letters_of <- strsplit(text, "")[[1]]
  at <- 1
  blank <- function() while (at <= length(letters_of) && letters_of[at] %in% c(" ", "\n")) at <<- at + 1
  word <- function(expected, value) {
    at <<- at + nchar(expected)
    value
  }
  string <- function() {
    at <<- at + 1
    out <- character(0)
    while (letters_of[at] != "\"") {
      if (letters_of[at] == "\\") at <<- at + 1
      out <- c(out, letters_of[at])
      at <<- at + 1
    }
    at <<- at + 1
    paste(out, collapse = "")
  }
  number <- function() {
    from <- at
    while (at <= length(letters_of) && grepl("[-+0-9.eE]", letters_of[at])) at <<- at + 1
    as.numeric(paste(letters_of[from:(at - 1)], collapse = ""))
  }
  many <- function(end, one) {
    at <<- at + 1
    out <- list()
    while (letters_of[at] != end) {
      out <- one(out)
      blank()
      if (letters_of[at] == ",") at <<- at + 1
    }
    at <<- at + 1
    out
  }
  value <- function() {
    blank()
    switch(letters_of[at],
      "{" = many("}", function(out) {
        blank()
        key <- string()
        at <<- at + 1
        out[key] <- list(value())
        out
      }),
      "[" = many("]", function(out) c(out, list(value()))),
      "\"" = string(), t = word("true", TRUE), f = word("false", FALSE), n = word("null", NULL), number())
  }
  value()
}

random_value <- function(depth) {
  kind <- if (depth == 0) sample(4, 1) else sample(6, 1)
  switch(kind, round(rnorm(1), 6), paste(sample(c(letters, "\""), 6), collapse = ""), runif(1) < 0.5, NULL,
         lapply(seq_len(sample(4, 1)), function(i) random_value(depth - 1)),
         setNames(lapply(1:3, function(i) random_value(depth - 1)), sample(c("id", "name", "tags", "size"), 3)))
}
originals <- list()
texts <- character(0)
differing <- 0
for (i in 1:1500) {
  originals[i] <- list(random_value(4))
  texts[i] <- to_json(originals[[i]])
  if (!identical(from_json(texts[i]), originals[[i]])) differing <- differing + 1
}
count_nodes <- function(x) if (is.list(x)) 1 + sum(vapply(x, count_nodes, 0)) else 1
nodes <- vapply(originals, count_nodes, 0)
