#' Log in to a market
#'
#' The login token stays in this R session and is never shown. With `remember = TRUE` it is also
#' saved in a file that only you can read, in `tools::R_user_dir("remotist", "config")`, and later R
#' sessions use it.
#'
#' @inheritParams register
#' @param pw Your password.
#' @param url The market's address, such as `"https://market.example"`. The default is
#'   `getOption("remotist.url")`, else the environment variable `REMOTIST_URL`.
#' @param remember Whether to save the token for later R sessions, which then are logged in until
#'   the token expires or you call [logout()].
#' @returns The time at which the login expires, invisibly.
#' @seealso [logout()], [changePassword()]
#' @inherit register examples
#' @export
login <- function(email, pw, url = NULL, remember = FALSE) {
  call <- environment()
  check_required(c("email", "pw"), call)
  email <- check_email(email, call)
  pw <- check_password(pw, call = call)
  check_flag(remember, "remember", call)
  url <- if (!is.null(url)) check_address(url, call) else if (!is.null(configured_address())) check_address(configured_address(), call) else address(call)
  if (!is_confidential_address(url)) {
    cli::cli_warn(c(
      "Your password is sent to {.url {url}} without encryption.",
      i = "Anybody on the network path can read it. Use an address that begins with {.code https://}."
    ), class = "remotist_plain_text")
  }
  body <- parse_body(send_request("POST", "/user/login", list(email = email, password = pw), token = FALSE, url = url, call = call), call)
  store_login(url, body$token, body$expires_at, email)
  cli::cli_inform(c(v = "Logged in at {.url {url}} as {.val {email}}."))
  if (remember) {
    file <- save_login()
    cli::cli_inform(c(i = "The login token is saved in {.file {file}}. {.run remotist::logout()} deletes it."))
  }
  invisible(time_of(body$expires_at))
}
