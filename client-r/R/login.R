#' Log in to a market
#'
#' The token that the market gives stays in this R session and is never shown.
#' With `remember = TRUE` it is also kept in a file that only you can read, under
#' `tools::R_user_dir("remotist", "config")`, and later sessions find it there.
#'
#' @inheritParams register
#' @param pw Your password.
#' @param url The market's address, such as `"https://market.example"`; by default
#'   the one of `options(remotist.url = )` or of the environment variable
#'   `REMOTIST_URL`.
#' @param remember Whether later sessions shall be logged in, too, until the token
#'   expires or you call [logout()].
#' @returns When the log-in expires, invisibly.
#' @seealso [logout()], [changePassword()]
#' @inherit register examples
#' @export
login <- function(email, pw, url = NULL, remember = FALSE) {
  call <- environment()
  check_given(c("email", "pw"), call)
  email <- check_email(email, call)
  pw <- check_password(pw, call = call)
  check_flag(remember, "remember", call)
  url <- if (!is.null(url)) address_check(url, call) else if (!is.null(address_wanted())) address_check(address_wanted(), call) else address(call)
  if (!address_is_private(url)) {
    cli::cli_warn(c(
      "Your password travels to {.url {url}} as plain text.",
      i = "Anybody on the way can read it: use an address that begins with {.code https://}."
    ), class = "remotist_plain_text")
  }
  given <- answer(ask("POST", "/user/login", list(email = email, password = pw), token = FALSE, url = url, call = call), call)
  session_start(url, given$token, given$expires_at, email)
  cli::cli_inform(c(v = "Logged in at {.url {url}} as {.val {email}}."))
  if (remember) {
    file <- session_remember()
    cli::cli_inform(c(i = "The log-in is remembered in {.file {file}}; {.run remotist::logout()} forgets it."))
  }
  invisible(time_of(given$expires_at))
}
