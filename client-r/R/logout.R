#' Log out
#'
#' Ends the login at the market and deletes the login token, in this R session and in the file of
#' `login(remember = TRUE)`. Jobs continue.
#'
#' @returns Nothing, invisibly.
#' @inherit register examples
#' @export
logout <- function() {
  call <- environment()
  restore_login(call)
  if (is.null(r_session$token)) {
    cli::cli_inform(c(i = "You are not logged in."))
    return(invisible())
  }
  # The token is deleted even when the market refuses or cannot be reached.
  on.exit({
    forget_login()
    delete_saved_login()
  })
  tryCatch(
    {
      send_request("POST", "/user/logout", idempotent = TRUE, call = call)
      cli::cli_inform(c(v = "Logged out."))
    },
    remotist_unauthenticated = function(e) cli::cli_inform(c(v = "Logged out. The login had already expired.")),
    remotist_unreachable = function(e) {
      cli::cli_inform(c("!" = "The market could not be reached. The token is deleted here, but stays valid until it expires."))
    }
  )
  invisible()
}
