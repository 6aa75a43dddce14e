# What the package keeps while R runs: the market's address, the login token, the machine that is lent and a cached value. It is in an
# environment of the package, which save.image() does not save; login(remember = TRUE) also writes the login to a file.

r_session <- new.env(parent = emptyenv())

store_login <- function(url, token, expires_at, email) {
  r_session$url <- url
  r_session$token <- token
  r_session$expires_at <- expires_at
  r_session$email <- email
}

forget_login <- function() {
  rm(list = ls(r_session, all.names = TRUE), envir = r_session)
}

# Named so since before logins were called logins; earlier versions of the package read the same file.
saved_login_file <- function() file.path(tools::R_user_dir("remotist", "config"), "session.json")

# Writes a temporary file and renames it. No other user can read it, not even while it is written.
save_login <- function() {
  file <- saved_login_file()
  before <- Sys.umask("077")
  on.exit(Sys.umask(before))
  dir.create(dirname(file), recursive = TRUE, showWarnings = FALSE)
  temporary <- paste0(file, ".", Sys.getpid())
  writeLines(jsonlite::toJSON(mget(c("url", "token", "expires_at", "email"), envir = r_session), auto_unbox = TRUE), temporary)
  if (!file.rename(temporary, file)) {
    unlink(temporary)
    abort_remotist("not_remembered", c(
      "The login token could not be saved in {.file {file}}.",
      i = "You are logged in in this R session only. Check that you can write to the folder."
    ))
  }
  file
}

delete_saved_login <- function() unlink(saved_login_file())

# Uses the saved login of an earlier R session, if there is one for this market.
restore_login <- function(call = NULL) {
  file <- saved_login_file()
  if (!is.null(r_session$token) || !file.exists(file)) return(invisible())
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
  store_login(saved$url, saved$token, saved$expires_at, saved$email)
}

login_token <- function(call) {
  restore_login(call)
  if (is.null(r_session$token)) {
    abort_remotist("unauthenticated", c(
      "You are not logged in.",
      i = "Log in first: {.code login(\"you@example.org\", \"your password\")}."
    ), call = call)
  }
  r_session$token
}
