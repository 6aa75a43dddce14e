#' Change your password
#'
#' Every other session of the account ends; this one stays logged in.
#'
#' @param old,new The password until now, and the new one of 8 to 1024 bytes.
#' @returns How many other sessions ended, invisibly.
#' @examplesIf nzchar(Sys.getenv("REMOTIST_URL"))
#' email <- paste0(basename(tempfile("pw-")), "@example.org")
#' register(email, "correct horse battery")
#' login(email, "correct horse battery")
#' changePassword("correct horse battery", "another horse battery")
#' logout()
#' @export
changePassword <- function(old, new) {
  call <- environment()
  check_given(c("old", "new"), call)
  old <- check_password(old, "old", call)
  new <- check_password(new, "new", call)
  if (identical(old, new)) {
    abort_remotist("invalid_argument", c("{.arg new} must be another password than {.arg old}."), argument = "new", call = call)
  }
  done <- answer(ask("POST", "/user/password", list(old = old, new = new), call = call), call)
  ended <- as.integer(done$sessions_ended)
  cli::cli_inform(c(v = "Your password is changed; {ended} other session{?s} ended."))
  invisible(ended)
}
