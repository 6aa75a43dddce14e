#' The error that ended a job
#'
#' @inheritParams viewJob
#' @param trust Whether to bring the variables at the error, too: they are made into R
#'   objects as they are, functions and environments included. See [loadJob()].
#' @returns An object of class `remotist_job_error`: a list with `code` (such as `"r_error"`,
#'   `"price_used_up"` or `"limit_ram"`), `message`, `call` and `traceback` (text, innermost
#'   call first) and, with `trust = TRUE`, `frame` and `globals`: the variables of the function
#'   that failed and of the script. `NULL` for a job that has not failed.
#' @seealso [waitJob()], which raises it
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
  check_given("id", call)
  id <- id_of(id, "id", "job", call)
  check_flag(trust, "trust", call)
  job <- new_job(answer(ask("GET", paste0("/job/", id), call = call), call))
  if (!identical(job$state, "failed")) {
    cli::cli_inform(c(i = "Job {.val {id}} has not failed: it is {job$state}."))
    return(invisible(NULL))
  }
  read_error(job, trust, call)
}

# What a document of an error may have: the machine that ran the job wrote it.
error_bytes_most <- 1024L * 1024L
traceback_lines_most <- 1000L

read_error <- function(job, trust, call) {
  files <- list_files(job$id, "error", call)
  told <- error_document(job$id, file_named(files, "error.json"), call)
  error <- list(
    job = job$id, code = job$failure_code,
    message = if (is.null(told$message)) job$failure_detail else told$message,
    call = if (is.null(told$call)) NA_character_ else told$call, traceback = told$traceback
  )
  state <- file_named(files, "error.rds")
  if (trust && !is.null(state)) {
    kept <- tryCatch(unserialize(file_bytes(job$id, state, 2^31 - 1, call)), error = function(e) abort_unreadable(job$id, conditionMessage(e), call))
    error$frame <- kept$frame
    error$globals <- kept$globals
  }
  structure(error, class = "remotist_job_error", has_state = !is.null(state))
}

# `message` and `call` as text or NULL, `traceback` as text; whatever else stands in the document is passed over.
error_document <- function(id, file, call) {
  told <- if (!is.null(file) && isTRUE(file$size <= error_bytes_most)) parse_text(file_text(id, file, call))
  field <- function(name) if (is.list(told)) told[[name, exact = TRUE]]
  text <- function(name) {
    value <- field(name)
    if (is_string(value) && nzchar(value)) clean_lines(value)
  }
  traceback <- field("traceback")
  traceback <- if (is.list(traceback)) Filter(is_string, utils::head(traceback, traceback_lines_most))
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
    cat("  With trust = TRUE it also has the variables at the error: $frame and $globals.\n")
  }
  invisible(x)
}
