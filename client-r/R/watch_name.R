# Names of watched variables, as core/watch_name.h parses them: a global variable of the script or an element of one, and an
# optional rule. Both parsers are tested with tests/testthat/watch-names.json.
#
#   name      = variable *element [" every " seconds | " by " fraction]
#   variable  = a name as R takes it, or any name in backticks
#   element   = "$" variable | "@" variable | "[[" whole number from 1 "]]" | "[[" '"' text '"' "]]"

# NULL for a valid name; else a list of `character`, the position of the mistake from 1 (0: the text as a whole), and `reason`.
watch_name_mistake <- function(name) {
  if (!nzchar(name)) return(list(character = 0, reason = "it is empty"))
  if (!validUTF8(name)) return(list(character = 0, reason = "it is not valid UTF-8"))
  if (nchar(name, "bytes") > variable_name_bytes_max) {
    return(list(character = 0, reason = paste("it has more than", variable_name_bytes_max, "bytes")))
  }
  control <- regexpr("[[:cntrl:]]", name)
  if (control > 0L) return(list(character = as.integer(control), reason = "it has a line break or another control character"))
  tryCatch(
    {
      parse_watch_name(name)
      NULL
    },
    remotist_watch_name = function(mistake) list(character = mistake$character, reason = conditionMessage(mistake))
  )
}

parse_watch_name <- function(name) {
  at <- skip_variable(name, 1L)
  steps <- 0L
  while (grepl("^[$@[]", substring(name, at))) {
    if (steps == watch_steps_max) expected("at most ", watch_steps_max, " elements", at = at)
    at <- skip_element(name, at)
    steps <- steps + 1L
  }
  check_rule(name, at)
}

expected <- function(..., at) {
  stop(structure(class = c("remotist_watch_name", "error", "condition"), list(message = paste0("expected ", ...), call = NULL, character = at)))
}

# The skip_ functions return the position after what they read.
skip_variable <- function(name, at) {
  rest <- substring(name, at)
  if (startsWith(rest, "`")) return(skip_quoted(name, at + 1L, "`", "a closing backtick"))
  # A character beyond ASCII is taken as part of a letter; R decides later whether it is one. R reads .5 as a number.
  found <- regexpr("^[A-Za-z.\u0080-\U{10FFFF}][A-Za-z0-9._\u0080-\U{10FFFF}]*", rest, perl = TRUE)
  if (found < 0L || grepl("^[.][0-9]", rest)) expected("a name", at = at)
  at + attr(found, "match.length")
}

# A text that is not empty, and the mark after it.
skip_quoted <- function(name, at, mark, what) {
  end <- regexpr(mark, substring(name, at), fixed = TRUE)
  if (end == 1L) expected("a name", at = at)
  if (end < 0L) expected(what, at = nchar(name) + 1L)
  at + as.integer(end)
}

skip_element <- function(name, at) {
  rest <- substring(name, at)
  if (!startsWith(rest, "[")) return(skip_variable(name, at + 1L))
  if (!startsWith(rest, "[[")) expected("[[", at = at)
  at <- at + 2L
  rest <- substring(name, at)
  at <- if (startsWith(rest, "\"")) skip_quoted(name, at + 1L, "\"", "a closing quote") else skip_index(rest, at)
  if (!startsWith(substring(name, at), "]]")) expected("]]", at = at)
  at + 2L
}

skip_index <- function(rest, at) {
  digits <- regmatches(rest, regexpr("^[0-9]+", rest))
  right <- length(digits) && as.numeric(digits) > 0 && as.numeric(digits) <= watch_index_max
  if (!right) expected("a whole number from 1 or a quoted name", at = at)
  at + nchar(digits)
}

check_rule <- function(name, at) {
  rest <- substring(name, at)
  if (!nzchar(rest)) return(invisible())
  if (!startsWith(rest, " ")) expected("$name, @name, [[1]], [[\"name\"]] or a space and a rule", at = at)
  rest <- substring(rest, 2L)
  if (startsWith(rest, "every ")) {
    check_rule_number(substring(rest, 7L), at + 7L, watch_seconds_max, "seconds")
  } else if (startsWith(rest, "by ")) {
    check_rule_number(substring(rest, 4L), at + 4L, watch_fraction_max, "a fraction")
  } else {
    expected("\"every SECONDS\" or \"by FRACTION\"", at = at + 1L)
  }
}

check_rule_number <- function(rest, at, max, what) {
  number <- regmatches(rest, regexpr("^([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?", rest))
  wanted <- sprintf("%s, more than 0 and at most %s", what, format(max, scientific = FALSE))
  if (!length(number)) expected(wanted, at = at)
  if (nchar(number) < nchar(rest)) expected("nothing after the number", at = at + nchar(number))
  amount <- as.numeric(number)
  if (amount <= 0 || amount > max) expected(wanted, at = at)
}

# The names for a job, or NULL for none.
check_watched <- function(value, call) {
  if (is.null(value)) return(NULL)
  if (!is.character(value) || anyNA(value) || length(value) > watched_variables_max || anyDuplicated(value)) {
    abort_argument("partialResultsVars", paste("must be the names of at most", watched_variables_max, "variables, each once"), value, call = call)
  }
  value <- enc2utf8(value)
  for (name in value) {
    mistake <- watch_name_mistake(name)
    if (!is.null(mistake)) abort_watch_name(name, mistake, call)
  }
  if (length(value)) I(value)
}

abort_watch_name <- function(name, mistake, call) {
  reason <- mistake$reason
  at <- mistake$character
  rest <- if (at > nchar(name)) "the end" else paste0("\"", short_text(substring(name, max(at, 1L))), "\"")
  abort_remotist("invalid_argument", c(
    "{.arg partialResultsVars} has a name that cannot be watched: {.val {short_text(name)}}.",
    x = if (at > 0) "At character {at}, {rest}: {reason}." else "{sentence(reason)}",
    i = "Valid names are {.val x}, {.val fit$loss}, {.val state@n}, {.val x[[2]]}, {.val x every 5} and {.val loss by 0.01}: see {.help remotist::addJob}."
  ), argument = "partialResultsVars", position = at, call = call)
}
