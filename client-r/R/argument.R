# Checks of arguments. Every exported function calls them first, so that an invalid argument is refused before anything is sent.

is_string <- function(x) is.character(x) && length(x) == 1L && !is.na(x)

# `rule` continues the sentence that begins with the argument's name, and may use cli's markup.
abort_argument <- function(name, rule, value, advice = NULL, call) {
  # A text in I() is shown as it is.
  given <- if (inherits(value, "AsIs")) as.character(unclass(value)) else describe(value)
  abort_remotist("invalid_argument", c(paste0("{.arg {name}} ", rule, "."), x = "You gave {given}.", i = advice), argument = name, call = call)
}

# Requires that the caller of the function with the environment `call` gave each of these arguments.
check_required <- function(names, call) {
  for (name in names) {
    if (eval(as.call(list(quote(missing), as.name(name))), call)) {
      abort_remotist("invalid_argument", c(
        "{.arg {name}} is missing.",
        i = "See the help page of the function."
      ), argument = name, call = call)
    }
  }
}

# A short description of a value, made without calling methods of its class.
describe <- function(value) {
  if (is.null(value)) return("NULL")
  kind <- if (is.object(value)) paste0("an object of class ", clean_text(class(value)[[1L]])) else typeof(value)
  if (is.object(value)) return(kind)
  if (!is.atomic(value)) return(paste0("an object of type ", kind))
  if (length(value) != 1L) return(paste0("a vector of ", length(value), " values (", kind, ")"))
  if (is.na(value)) return("NA")
  if (is.character(value)) return(paste0("\"", substr(clean_text(value), 1L, 60L), "\""))
  format(value)
}

check_string <- function(value, name, bytes_max = Inf, call) {
  if (!is_string(value) || !nzchar(value)) abort_argument(name, "must be a single non-empty string", value, call = call)
  if (nchar(value, "bytes") > bytes_max) {
    abort_argument(name, paste("must have at most", bytes_max, "bytes"), I(paste(nchar(value, "bytes"), "bytes")), call = call)
  }
  enc2utf8(value)
}

check_email <- function(value, call) {
  if (!is_string(value) || !grepl("^[^@[:space:]]+@[^@[:space:]]+$", value) || nchar(enc2utf8(value), "bytes") > email_bytes_max) {
    abort_argument("email", "must be an e-mail address, such as {.val you@example.org}", value, call = call)
  }
  enc2utf8(value)
}

# The value is never shown.
check_password <- function(value, name = "pw", call) {
  if (!is_string(value)) {
    abort_remotist("invalid_argument", c(
      "{.arg {name}} must be a single string.",
      i = "To enter it at a prompt, use {.fn askpass::askpass} or {.fn readline}."
    ), argument = name, call = call)
  }
  bytes <- nchar(enc2utf8(value), "bytes")
  if (bytes < password_bytes_min || bytes > password_bytes_max) {
    abort_remotist("invalid_argument", c("{.arg {name}} must have from {password_bytes_min} to {password_bytes_max} bytes.", x = "It has {bytes}."), argument = name, call = call)
  }
  enc2utf8(value)
}

check_whole <- function(value, name, min, max, unit, call) {
  valid <- is.numeric(value) && !is.object(value) && length(value) == 1L && !is.na(value) &&
    value == trunc(value) && value >= min && value <= max
  if (!valid) {
    unit <- if (is.null(unit)) "" else paste0(" of ", unit, ",")
    abort_argument(name, paste0("must be a whole number", unit, " from ", count_text(min), " to ", count_text(max)), value, call = call)
  }
  as.integer(value)
}

count_text <- function(n) format(n, big.mark = ",", scientific = FALSE, trim = TRUE)

check_price <- function(value, unit, call) {
  price_max <- credits_micro_max / 1e6
  valid <- is.numeric(value) && !is.object(value) && length(value) == 1L && is.finite(value) && value >= 0 && value <= price_max
  if (!valid) abort_argument("price", paste0("must be a number of ", unit, ", from 0 to ", count_text(price_max)), value, call = call)
  round(as.numeric(value), 6L)
}

# The seconds from now until a time, or in a difftime or a number.
check_deadline <- function(value, call) {
  rule <- paste("must be a time in the future, a difftime, or a number of seconds, at most", deadline_days_max, "days from now")
  seconds <- if (length(value) != 1L) {
    NA
  } else if (inherits(value, "POSIXt")) {
    as.numeric(difftime(as.POSIXct(value), Sys.time(), units = "secs"))
  } else if (inherits(value, "difftime")) {
    as.numeric(value, units = "secs")
  } else if (is.numeric(value) && !is.object(value)) {
    as.numeric(value)
  } else {
    NA
  }
  if (is.na(seconds) || ceiling(seconds) < 1 || ceiling(seconds) > deadline_days_max * 86400) {
    shown <- if (is.na(seconds) || is.numeric(value) && !is.object(value)) value else I(paste(round(seconds), "seconds from now"))
    abort_argument("deadline", rule, shown, "For example {.code Sys.time() + 3600}, {.code as.difftime(2, units = \"hours\")} or {.code 7200}.", call = call)
  }
  as.integer(ceiling(seconds))
}

check_flag <- function(value, name, call) {
  if (!is.logical(value) || length(value) != 1L || is.na(value)) {
    abort_argument(name, "must be {.code TRUE} or {.code FALSE}", value, call = call)
  }
  value
}

check_page <- function(value, call) check_whole(value, "page", 1, page_number_max, NULL, call)

# The id of a job or machine, given as the object or as text.
id_of <- function(value, name, what, call) {
  if (inherits(value, paste0("remotist_", what))) value <- value[["id"]]
  if (!is_string(value) || !grepl("^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$", value)) {
    advice <- switch(what,
      job = "{.run remotist::listJobs()} shows your jobs with their ids.",
      machine = "{.run remotist::listMachines()} shows your machines with their ids."
    )
    abort_argument(name, paste("must be a", what, "or its id"), value, advice, call = call)
  }
  tolower(value)
}
