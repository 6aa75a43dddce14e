#' The log of a job
#'
#' Standard output and messages of the script, in order. For a running job the log is about two
#' seconds old. Of a long log only the beginning and the end are kept.
#'
#' @inheritParams viewJob
#' @returns A character vector, one element per line. The lines are unchanged: they may contain
#'   control characters that act on a terminal, so do not print them with [writeLines()] unless you
#'   trust the job.
#' @inherit loadJob examples
#' @export
jobLog <- function(id) {
  call <- environment()
  check_required("id", call)
  id <- id_of(id, "id", "job", call)
  log_lines(id, call)
}

log_lines <- function(id, call) {
  files <- list_files(id, "log", call)
  text <- vapply(files, function(file) file_text(id, file, call), "")
  lines <- unlist(strsplit(text, "\n", fixed = TRUE))
  if (is.null(lines)) character() else sub("\r$", "", lines)
}
