#' Make an account at a market
#'
#' A new account starts with some credits to spend. Registering does not log in:
#' call [login()] next.
#'
#' @param email Your e-mail address.
#' @param pw A password of 8 to 1024 bytes.
#' @param url The market's address; by default the one of `options(remotist.url = )`
#'   or of the environment variable `REMOTIST_URL`.
#' @param invitation The code of an invitation, where the market asks for one.
#' @returns The new account's id, invisibly.
#' @seealso [login()], [account()]
#' @examplesIf nzchar(Sys.getenv("REMOTIST_URL"))
#' email <- paste0(basename(tempfile("ada-")), "@example.org")
#' register(email, "correct horse battery")
#' login(email, "correct horse battery")
#' logout()
#' @export
register <- function(email, pw, url = NULL, invitation = NULL) {
  call <- environment()
  check_given(c("email", "pw"), call)
  email <- check_email(email, call)
  pw <- check_password(pw, call = call)
  if (!is.null(invitation)) invitation <- check_string(invitation, "invitation", call = call)
  url <- if (is.null(url)) address(call) else address_check(url, call)
  made <- answer(ask("POST", "/user/register", list(email = email, password = pw, invitation = invitation), token = FALSE, url = url, call = call), call)
  cli::cli_inform(c(v = "{.val {email}} is registered.", i = "Next: {.code login(\"{email}\", pw)}"))
  invisible(made$id)
}
