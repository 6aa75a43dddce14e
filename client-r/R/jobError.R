#' The error that ended a job
#'
#' @inheritParams viewJob
#' @param trust Whether to load the variables at the error, too, without checks, functions and
#'   environments included. See [loadJob()].
#' @returns An object of class `remotist_job_error`: a list with `code` (such as `"r_error"`,
#'   `"price_used_up"` or `"limit_ram"`), `message`, `call` and `traceback` (text, innermost
#'   call first) and, with `trust = TRUE`, `frame` and `globals`: the variables of the function
#'   that failed and of the script. `NULL` for a job that has not failed.
#' @seealso [waitJob()], which raises the error
#' @examplesIf nzchar(Sys.getenv("REMOTIST_URL")) && nzchar(Sys.getenv("REMOTIST_VOLUNTEERS"))
#' email <- paste0(basename(tempfile("err-")), "@example.org")
#' register(email, "correct horse battery")
#' login(email, "correct horse battery")
#' folder <- tempfile()
#' dir.create(folder)
#' writeLines("f <- function(x) stop('no ', x); f(3)", file.path(folder, "main.R"))
#' job <- addJob("an error", "main.R", folder_path = folder)
#' try(waitJob(job))
#' jobError(job)
#' deleteJob(job)
#' logout()
#' @export
jobError <- function(id, trust = FALSE) {
  call <- environment()
  check_required("id", call)
  id <- id_of(id, "id", "job", call)
  check_flag(trust, "trust", call)
  job <- fetch_job(id, call)
  if (!identical(job$state, "failed")) {
    cli::cli_inform(c(i = "Job {.val {id}} has not failed. Its state is {.val {job$state}}."))
    return(invisible(NULL))
  }
  read_error(job, trust, call)
}

# Limits of error.json, which the machine that ran the job wrote.
error_bytes_max <- 1024L * 1024L
traceback_lines_max <- 1000L

read_error <- function(job, trust, call) {
  files <- list_files(job$id, "error", call)
  document <- error_document(job$id, find_file(files, "error.json"), call)
  error <- list(
    job = job$id, code = job$failure_code,
    message = if (is.null(document$message)) job$failure_detail else document$message,
    call = if (is.null(document$call)) NA_character_ else document$call, traceback = document$traceback
  )
  state <- find_file(files, "error.rds")
  if (trust && !is.null(state)) {
    variables <- tryCatch(unserialize(file_bytes(job$id, state, loaded_bytes_max, call)), error = function(e) abort_unreadable(job$id, conditionMessage(e), call))
    error$frame <- variables$frame
    error$globals <- variables$globals
  }
  structure(error, class = "remotist_job_error", has_state = !is.null(state))
}

# `message` and `call` as a string or NULL, `traceback` as strings; other fields of the document are ignored.
error_document <- function(id, file, call) {
  document <- if (!is.null(file) && isTRUE(file$size <= error_bytes_max)) parse_text(file_text(id, file, call))
  field <- function(name) if (is.list(document)) document[[name, exact = TRUE]]
  text <- function(name) {
    value <- field(name)
    if (is_string(value) && nzchar(value)) clean_lines(value)
  }
  traceback <- field("traceback")
  traceback <- if (is.list(traceback)) Filter(is_string, utils::head(traceback, traceback_lines_max))
  list(message = text("message"), call = text("call"), traceback = clean_text(as.character(unlist(traceback))))
}

#' @export
print.remotist_job_error <- function(x, ...) {
  print_table(paste0("Error of job ", x$job), list(
    code = x$code, message = gsub("\n", "\n           ", x$message, fixed = TRUE), call = x$call
  ))
  if (length(x$traceback)) {
    cat("  traceback\n")
    cat(paste0("    ", rev(seq_along(x$traceback)), ": ", x$traceback, "\n"), sep = "")
  }
  if (is.null(x$frame) && isTRUE(attr(x, "has_state"))) {
    cat("  With trust = TRUE, $frame and $globals contain the variables at the error.\n")
  }
  invisible(x)
}
