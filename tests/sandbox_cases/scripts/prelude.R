# What every hostile script says and knows; see programs/hostile.h for the words.

target <- local({
  lines <- strsplit(readLines("target"), " ", fixed = TRUE)
  values <- setNames(vapply(lines, function(x) paste(x[-1], collapse = " "), ""), vapply(lines, `[`, "", 1L))
  function(key) values[[key]]
})

trying <- function(...) cat("trying: ", ..., "\n", sep = "")
escaped <- function(...) cat("escaped: ", ..., "\n", sep = "")
contained <- function(...) cat("contained: ", ..., "\n", sep = "")

# One attempt: TRUE is an escape, anything else and every condition is not.
attempt <- function(what, expression) {
  trying(what)
  got <- tryCatch(expression, error = identity, warning = identity)
  if (inherits(got, "condition")) {
    contained(what, ": ", conditionMessage(got))
  } else if (isTRUE(got)) {
    escaped(what)
  } else {
    contained(what, ": ", deparse(got)[1])
  }
}

holds_secret <- function(path) any(grepl(target("canary_word"), readLines(path, warn = FALSE), fixed = TRUE))

# The case's program in C.
misbehave <- function() {
  dyn.load("program.so")
  invisible(.C("misbehave"))
}
