#' Create an account at a market
#'
#' A new account has some credits to spend. Registration does not log in: call [login()] next.
#'
#' @param email Your e-mail address.
#' @param pw A password of 8 to 1024 bytes.
#' @param url The market's address. The default is `getOption("remotist.url")`, else the environment
#'   variable `REMOTIST_URL`.
#' @param invitation An invitation code, if the market requires one.
#' @returns The id of the new account, invisibly.
#' @seealso [login()], [account()]
#' @examplesIf nzchar(Sys.getenv("REMOTIST_URL"))
#' email <- paste0(basename(tempfile("ada-")), "@example.org")
#' register(email, "correct horse battery")
#' login(email, "correct horse battery")
#' logout()
#' @export
register <- function(email, pw, url = NULL, invitation = NULL) {
  call <- environment()
  check_required(c("email", "pw"), call)
  email <- check_email(email, call)
  pw <- check_password(pw, call = call)
  if (!is.null(invitation)) invitation <- check_string(invitation, "invitation", call = call)
  url <- if (is.null(url)) address(call) else check_address(url, call)
  body <- parse_body(send_request("POST", "/user/register", list(email = email, password = pw, invitation = invitation), token = FALSE, url = url, call = call), call)
  cli::cli_inform(c(v = "Registered {.val {email}}.", i = "Log in next: {.code login(\"{email}\", pw)}."))
  invisible(body$id)
}
