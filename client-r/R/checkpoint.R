#' Request a checkpoint in a job
#'
#' For scripts that are submitted with [addJob()]. Checkpoints are saved from time to time without any
#' call; a script calls `checkpoint()` where one is worth most, such as after an expensive step. If the
#' machine disappears later, another one continues from there. The call only requests the checkpoint, which
#' may be saved a moment later, and does not wait until the market has it.
#'
#' In any other R session, and in a job submitted with `addJob(checkpoint = FALSE)`, it does nothing.
#'
#' @returns Nothing, invisibly.
#' @seealso [checkpointReport()], which reports where a script allows checkpoints; [jobHistory()], which lists
#'   those of a job
#' @examples
#' for (i in 1:3) {
#'   x <- mean(rnorm(1000))
#'   checkpoint()
#' }
#' @export
checkpoint <- function() invisible()
