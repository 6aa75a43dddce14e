#' Send a job to the market
#'
#' Sends a script with the folder it needs. The job then waits for a machine that
#' fits, runs there, and its result waits for you: the session may end meanwhile.
#' The market holds the job's price until it ends, pays the machine for the CPU time
#' that it took, and returns the rest.
#'
#' Of the folder, `.git`, `.Rproj.user`, `.RData`, `.Renviron` and `.Rhistory` stay at
#' home, and whatever a file `.remotistignore` in it names, by patterns such as
#' `*.csv`, `raw/` or `!raw/small.csv`. Files are sent in pieces; when an upload
#' breaks off, call `addJob()` again, and what has arrived is not sent a second time.
#' A job exists only once all of it has arrived.
#'
#' In the script, the working directory is the job's folder, and
#' `remotist::progress(0.5, "half way")` tells how far it is.
#'
#' @param name What you call the job.
#' @param exec_file The script to run: a path inside `folder_path`.
#' @param cpu Cores that the job needs.
#' @param disc,ram Disc and memory that it needs, in MB. By default 1024 each, and
#'   for `disc` more when the folder is larger than half of that.
#' @param price The most that you will pay, in credits. By default 1.
#' @param deadline When the job is of no use any more: a time, a span of time
#'   ([difftime]), or a number of seconds from now. By default never.
#' @param folder_path The folder that goes with the job.
#' @param partialResultsVars Names of variables of the script to watch while the job runs, see
#'   [watchVar()]: `"x"`, elements such as `"fit$loss"`, `"state@n"` or `"x[[2]]"`, and with a rule
#'   `"x every 5"` (at most every five seconds) or `"loss by 0.01"` (when a number has moved by
#'   more than a hundredth).
#' @returns The job, an object of class `remotist_job` that prints as a small table
#'   and can be given wherever a job's id is asked for.
#' @seealso [waitJob()], [watchVar()], [loadJob()], [downloadJob()], [cancelJob()]
#' @examplesIf nzchar(Sys.getenv("REMOTIST_URL"))
#' email <- paste0(basename(tempfile("job-")), "@example.org")
#' register(email, "correct horse battery")
#' login(email, "correct horse battery")
#'
#' folder <- tempfile()
#' dir.create(folder)
#' writeLines("for (i in 1:10000) x <- mean(rnorm(1e6))", file.path(folder, "main.R"))
#' job <- addJob("means", "main.R", price = 1, deadline = 3600, folder_path = folder)
#' job
#' cancelJob(job)
#' deleteJob(job)
#' logout()
#' @export
addJob <- function(name, exec_file, cpu = 1, disc = NULL, ram = NULL, price = NULL, deadline = NULL,
                   folder_path = ".", partialResultsVars = c()) {
  call <- environment()
  check_given(c("name", "exec_file"), call)
  wanted <- list(
    name = check_string(name, "name", 200L, call),
    exec_file = check_string(exec_file, "exec_file", path_bytes_most, call),
    cpu = check_whole(cpu, "cpu", 1, 256, "cores", call),
    disc = if (!is.null(disc)) check_whole(disc, "disc", 1, 16777216, "MB", call),
    ram = if (!is.null(ram)) check_whole(ram, "ram", 64, 4194304, "MB", call),
    price = if (!is.null(price)) check_price(price, "credits", call),
    deadline = if (!is.null(deadline)) check_deadline(deadline, call),
    partial_results_vars = check_watched(partialResultsVars, call)
  )
  folder <- check_folder(folder_path, call)
  session_token(call)
  files <- read_folder(folder, call)
  wanted$exec_file <- check_script(wanted$exec_file, folder, files, call)
  files$is_code[files$path == wanted$exec_file] <- TRUE
  if (is.null(disc)) wanted$disc <- disc_for(sum(files$size))
  show_folder(folder, files, wanted$name)

  code <- if (nrow(files) == 1L && files$size <= inline_bytes_most) inline_text(file.path(folder, files$path), files$size)
  job <- if (!is.null(code)) send_inline(wanted, code, call) else send_folder(wanted, folder, files, call)
  cli::cli_inform(c(v = "Job {.val {job$id}} is submitted; it goes on when this session ends."))
  job
}

# JSON may have 256 KiB, and a text of line ends doubles in it.
inline_bytes_most <- 120L * 1024L

check_watched <- function(value, call) {
  if (is.null(value)) return(NULL)
  if (!is.character(value) || anyNA(value) || !all(nzchar(value)) || length(value) > 64L || anyDuplicated(value)) {
    abort_argument("partialResultsVars", "must be the names of at most 64 variables, each once", value, call = call)
  }
  if (length(value)) I(enc2utf8(value))
}

check_script <- function(script, folder, files, call) {
  script <- gsub("\\", "/", script, fixed = TRUE)
  script <- sub("^(\\./)+", "", script)
  if (script %in% files$path) return(script)
  reason <- if (grepl("^(/|[A-Za-z]:|~)|(^|/)\\.\\.(/|$)", script)) {
    "It leads out of the folder."
  } else if (file.exists(file.path(folder, script))) {
    "It is there, but among what is never sent or what {.file .remotistignore} names."
  } else {
    "There is no such file."
  }
  abort_remotist("invalid_argument", c(
    "{.arg exec_file} must be a path inside {.arg folder_path}: {.file {script}} is not in {.file {folder}}.",
    x = reason,
    i = "For example {.code addJob(\"name\", \"main.R\", folder_path = \"my-job\")}."
  ), argument = "exec_file", call = call)
}

# Room for the folder, and as much again to work with.
disc_for <- function(bytes) as.integer(min(max(1024, ceiling(2 * bytes / 2^20) + 64), 16777216))

# A small text, or NULL for what JSON cannot carry, or only at many times its length.
inline_text <- function(path, size) {
  bytes <- readBin(path, "raw", size)
  if (any(bytes < as.raw(32L) & !bytes %in% as.raw(c(9L, 10L, 13L)))) return(NULL)
  text <- rawToChar(bytes)
  Encoding(text) <- "UTF-8"
  if (validUTF8(text)) text
}

send_inline <- function(wanted, code, call) {
  body <- c(wanted, list(code = code, submit = TRUE))
  new_job(answer(ask("PUT", "/job/", body, headers = list(`Idempotency-Key` = new_key()), again = TRUE, call = call), call))
}

send_folder <- function(wanted, folder, files, call) {
  check_balance(wanted$price, call)
  documents <- resumable(send_files(folder, files, call), call)
  job <- new_job(answer(ask("PUT", "/job/", wanted, headers = list(`Idempotency-Key` = new_key()), again = TRUE, call = call), call))
  whole_or_gone(job, call, {
    for (role in c("code", "data")) name_files(job$id, role, documents[files$is_code == (role == "code")], call)
    submit(job$id, call)
  })
}

# Before a large upload, not after it.
check_balance <- function(price, call) {
  price <- if (is.null(price)) 1 else price
  balance <- as.numeric(answer(ask("GET", "/user/", call = call), call)$balance)
  if (price <= balance) return(invisible())
  costs <- credits_text(price)
  has <- credits_text(balance)
  abort_remotist("insufficient_credits", c(
    "Not enough credits.",
    x = "The job's price is {costs}, and your account has {has}.",
    i = advice_for("insufficient_credits")
  ), status = 402L, field = "price", retryable = FALSE, call = call)
}

# What the market shall know of each file: its text when it is small, else its chunks, which it then has.
send_files <- function(folder, files, call) {
  room <- 256L * 1024L
  documents <- vector("list", nrow(files))
  chunks <- list()
  for (i in seq_len(nrow(files))) {
    path <- file.path(folder, files$path[[i]])
    size <- files$size[[i]]
    text <- if (size <= min(room, 8192)) inline_text(path, size)
    if (!is.null(text)) {
      room <- room - size
      documents[[i]] <- list(path = files$path[[i]], text = text)
    } else {
      chunks[[i]] <- chunks_of(path)
      documents[[i]] <- list(path = files$path[[i]], size = sum(chunks[[i]]$size), chunks = I(chunks[[i]]$name))
    }
  }
  chunks <- do.call(rbind, chunks)
  if (!is.null(chunks) && nrow(chunks)) send_chunks(chunks, call)
  documents
}

# In requests that stay well below the market's limit for one.
name_files <- function(id, role, documents, call) {
  weight <- vapply(documents, function(document) 400 + 70 * length(document$chunks) + 2 * sum(nchar(document$text, "bytes")), 0)
  for (some in split(documents, cumsum(weight) %/% (400 * 1024))) {
    ask("POST", paste0("/job/", id, "/", role), list(files = unname(some)), again = TRUE, call = call)
  }
}

submit <- function(id, call) {
  tryCatch(
    new_job(answer(ask("POST", paste0("/job/", id, "/submit"), again = TRUE, call = call), call)),
    # The first try may have been done though its answer was lost.
    remotist_wrong_state = function(refusal) {
      job <- new_job(answer(ask("GET", paste0("/job/", id), call = call), call))
      if (identical(job$state, "uploading")) stop(refusal)
      job
    }
  )
}

resumable <- function(work, call) {
  advice <- "Call {.fn addJob} again with the same folder: what has arrived is not sent a second time. No job was made."
  tryCatch(work,
    remotist_error = function(cause) {
      abort_remotist(cause$code, c("The job's files could not be sent.", i = advice), parent = cause, status = cause$status, call = call)
    },
    interrupt = function(cause) {
      abort_remotist("interrupted", c("You stopped the upload.", i = advice), call = call)
    }
  )
}

# A job that cannot be submitted is no use to anybody: it goes, and if even that fails, the user is told its id.
whole_or_gone <- function(job, call, work) {
  give_up <- function(code, cause) {
    id <- job$id
    gone <- tryCatch(
      {
        ask("DELETE", paste0("/job/", id), again = TRUE, patience = 2L, call = call)
        TRUE
      },
      remotist_not_found = function(e) TRUE,
      error = function(e) FALSE
    )
    advice <- if (gone) {
      "Nothing of it is left at the market but the files' pieces, which are not sent a second time when you call {.fn addJob} again."
    } else {
      "It stays at the market, neither running nor paid for: delete it with {.code deleteJob(\"{id}\")}, then call {.fn addJob} again."
    }
    abort_remotist(code, c("The job could not be submitted.", i = advice), parent = cause, status = cause$status, job = id, call = call)
  }
  tryCatch(work,
    remotist_error = function(cause) give_up(cause$code, cause),
    interrupt = function(cause) give_up("interrupted", NULL)
  )
}
