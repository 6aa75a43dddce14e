# What a session knows: the market's address and the token that speaks for the account. It stays in this
# environment, which no save.image() writes down; the file is for those who ask for it.

session <- new.env(parent = emptyenv())

session_start <- function(url, token, expires_at, email) {
  session$url <- url
  session$token <- token
  session$expires_at <- expires_at
  session$email <- email
}

session_end <- function() {
  rm(list = ls(session, all.names = TRUE), envir = session)
}

session_file <- function() file.path(tools::R_user_dir("remotist", "config"), "session.json")

# Whole or not at all, and never readable by others, not even while it is written.
session_remember <- function() {
  file <- session_file()
  before <- Sys.umask("077")
  on.exit(Sys.umask(before))
  dir.create(dirname(file), recursive = TRUE, showWarnings = FALSE)
  half <- paste0(file, ".", Sys.getpid())
  writeLines(jsonlite::toJSON(mget(c("url", "token", "expires_at", "email"), envir = session), auto_unbox = TRUE), half)
  if (!file.rename(half, file)) {
    unlink(half)
    abort_remotist("not_remembered", c(
      "Your log-in could not be written to {.file {file}}.",
      i = "You are logged in for this session. Check that the folder can be written, or log in without {.arg remember}."
    ))
  }
  file
}

session_forget <- function() unlink(session_file())

# Takes up the log-in of an earlier session; without one does nothing.
session_recall <- function(call = NULL) {
  file <- session_file()
  if (!is.null(session$token) || !file.exists(file)) return(invisible())
  if (.Platform$OS.type == "unix" && bitwAnd(as.integer(file.mode(file)), 63L) != 0L) {
    abort_remotist("unauthenticated", c(
      "Your remembered log-in was not used.",
      x = "Others can read {.file {file}}, so its token may not be yours alone.",
      i = "Delete that file and {.run remotist::login()} again."
    ), call = call)
  }
  kept <- parse_text(tryCatch(paste(readLines(file, warn = FALSE), collapse = "\n"), error = function(e) NULL))
  if (!is.list(kept) || !is_string(kept$url) || !is_string(kept$token)) return(invisible())
  wanted <- address_wanted()
  if (!is.null(wanted) && !identical(wanted, kept$url)) return(invisible())
  session_start(kept$url, kept$token, kept$expires_at, kept$email)
}

session_token <- function(call) {
  session_recall(call)
  if (is.null(session$token)) {
    abort_remotist("unauthenticated", c(
      "You are not logged in.",
      i = "Log in first: {.code login(\"you@example.org\", \"your password\")}."
    ), call = call)
  }
  session$token
}
