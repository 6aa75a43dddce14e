#' Change your password
#'
#' All other logins of the account end; this R session stays logged in.
#'
#' @param old,new The current password, and the new one of 8 to 1024 bytes.
#' @returns The number of other logins that ended, invisibly.
#' @examplesIf nzchar(Sys.getenv("REMOTIST_URL"))
#' email <- paste0(basename(tempfile("pw-")), "@example.org")
#' register(email, "correct horse battery")
#' login(email, "correct horse battery")
#' changePassword("correct horse battery", "another horse battery")
#' logout()
#' @export
changePassword <- function(old, new) {
  call <- environment()
  check_required(c("old", "new"), call)
  old <- check_password(old, "old", call)
  new <- check_password(new, "new", call)
  if (identical(old, new)) {
    abort_remotist("invalid_argument", "{.arg new} must differ from {.arg old}.", argument = "new", call = call)
  }
  body <- parse_body(send_request("POST", "/user/password", list(old = old, new = new), call = call), call)
  ended <- as.integer(body$logins_ended)
  cli::cli_inform(c(v = "Changed your password. {ended} other login{?s} ended."))
  invisible(ended)
}
