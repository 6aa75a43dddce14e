#' Log out
#'
#' Ends this session at the market and forgets its token, here and in the file of
#' `login(remember = TRUE)`. Jobs go on.
#'
#' @returns Nothing, invisibly.
#' @inherit register examples
#' @export
logout <- function() {
  call <- environment()
  session_recall(call)
  if (is.null(session$token)) {
    cli::cli_inform(c(i = "You are not logged in."))
    return(invisible())
  }
  # Forgotten here in any case: who logs out wants no token left, whatever the market says.
  on.exit({
    session_end()
    session_forget()
  })
  tryCatch(
    {
      ask("POST", "/user/logout", again = TRUE, call = call)
      cli::cli_inform(c(v = "Logged out."))
    },
    remotist_unauthenticated = function(e) cli::cli_inform(c(v = "Logged out; the log-in had expired already.")),
    remotist_unreachable = function(e) {
      cli::cli_inform(c("!" = "The token is forgotten here, but the market could not be told: it stays valid until it expires."))
    }
  )
  invisible()
}
