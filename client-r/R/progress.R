#' Tell how far a job is
#'
#' For scripts that are sent with [addJob()]: on a lent machine it tells the job's
#' owner, who sees it in [waitJob()] and [viewJob()]. In any other session it says
#' the same as a message, so that a script can be tried at home.
#'
#' @param fraction A number from 0 to 1.
#' @param message What the job does now.
#' @returns Nothing, invisibly.
#' @examples
#' for (i in 1:4) progress(i / 4, paste("round", i, "of 4"))
#' @export
progress <- function(fraction, message = "") {
  call <- environment()
  check_given("fraction", call)
  if (!is.numeric(fraction) || length(fraction) != 1L || is.na(fraction) || fraction < 0 || fraction > 1) {
    abort_argument("fraction", "must be one number from 0 to 1", fraction, call = call)
  }
  percent <- round(100 * fraction)
  words <- paste(as.character(message), collapse = " ")
  cli::cli_inform("{percent}% {words}")
  invisible()
}
