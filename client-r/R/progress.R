#' Report the progress of a job
#'
#' For scripts that are submitted with [addJob()]: in a job it reports progress to the job's owner,
#' who sees it in [waitJob()] and [viewJob()]. In any other R session it prints the same as a
#' message, so that a script can be tried before it is submitted.
#'
#' @param fraction The fraction of the work that is done, a number from 0 to 1.
#' @param message What the job is doing.
#' @returns Nothing, invisibly.
#' @examples
#' for (i in 1:4) progress(i / 4, paste("round", i, "of 4"))
#' @export
progress <- function(fraction, message = "") {
  call <- environment()
  check_required("fraction", call)
  if (!is.numeric(fraction) || length(fraction) != 1L || is.na(fraction) || fraction < 0 || fraction > 1) {
    abort_argument("fraction", "must be a single number from 0 to 1", fraction, call = call)
  }
  percent <- round(100 * fraction)
  text <- paste(as.character(message), collapse = " ")
  cli::cli_inform("{percent}% {text}")
  invisible()
}
