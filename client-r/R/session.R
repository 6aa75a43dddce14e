# State of the R session: the market's address, the login token, the machine that is lent and a cached value. It is in an
# environment of the package, which save.image() does not save; login(remember = TRUE) also writes the token to a file.

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

# Writes a temporary file and renames it. No other user can read it, not even while it is written.
session_save <- function() {
  file <- session_file()
  before <- Sys.umask("077")
  on.exit(Sys.umask(before))
  dir.create(dirname(file), recursive = TRUE, showWarnings = FALSE)
  temporary <- paste0(file, ".", Sys.getpid())
  writeLines(jsonlite::toJSON(mget(c("url", "token", "expires_at", "email"), envir = session), auto_unbox = TRUE), temporary)
  if (!file.rename(temporary, file)) {
    unlink(temporary)
    abort_remotist("not_remembered", c(
      "The login token could not be saved in {.file {file}}.",
      i = "You are logged in in this R session only. Check that you can write to the folder."
    ))
  }
  file
}

session_delete_file <- function() unlink(session_file())

# Uses the saved login of an earlier R session, if there is one for this market.
session_restore <- function(call = NULL) {
  file <- session_file()
  if (!is.null(session$token) || !file.exists(file)) return(invisible())
  if (.Platform$OS.type == "unix" && bitwAnd(as.integer(file.mode(file)), 63L) != 0L) {
    abort_remotist("unauthenticated", c(
      "The saved login token was not used.",
      x = "Other users can read {.file {file}} and may have copied the token.",
      i = "Delete that file and log in again with {.run remotist::login()}."
    ), call = call)
  }
  saved <- parse_text(tryCatch(paste(readLines(file, warn = FALSE), collapse = "\n"), error = function(e) NULL))
  if (!is.list(saved) || !is_string(saved$url) || !is_string(saved$token)) return(invisible())
  configured <- configured_address()
  if (!is.null(configured) && !identical(configured, saved$url)) return(invisible())
  session_start(saved$url, saved$token, saved$expires_at, saved$email)
}

login_token <- function(call) {
  session_restore(call)
  if (is.null(session$token)) {
    abort_remotist("unauthenticated", c(
      "You are not logged in.",
      i = "Log in first: {.code login(\"you@example.org\", \"your password\")}."
    ), call = call)
  }
  session$token
}
