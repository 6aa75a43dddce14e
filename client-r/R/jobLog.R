#' What a job printed
#'
#' Standard output and messages, in order; of a job that runs, up to some two
#' seconds ago. Of a long log head and tail are kept.
#'
#' @inheritParams viewJob
#' @returns A character vector with a line each. Lines are as the job printed them: to
#'   show them in a terminal use [writeLines()] only if you trust the job.
#' @inherit loadJob examples
#' @export
jobLog <- function(id) {
  call <- environment()
  check_given("id", call)
  id <- id_of(id, "id", "job", call)
  log_lines(id, call)
}

log_lines <- function(id, call) {
  files <- list_files(id, "log", call)
  text <- vapply(files, function(file) file_text(id, file, call), "")
  lines <- unlist(strsplit(text, "\n", fixed = TRUE))
  if (is.null(lines)) character() else sub("\r$", "", lines)
}
