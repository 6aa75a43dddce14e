#' Submit a job
#'
#' Uploads a folder with a script and submits it as a job. The market assigns the job to a
#' machine that offers enough resources at an acceptable price, and stores its result: the R
#' session may end in the meantime. The market reserves the job's price from your account, pays
#' the machine for the CPU time that the job used, and returns the rest when the job ends.
#'
#' The files `.git`, `.Rproj.user`, `.RData`, `.Renviron` and `.Rhistory` of the folder are not
#' uploaded, nor are those that the file `.remotistignore` in it lists, by patterns such as
#' `*.csv`, `raw/` or `!raw/small.csv`. If an upload is interrupted, call `addJob()` again: chunks
#' that the market already has are not uploaded again. The job is created only when all files have
#' been uploaded.
#'
#' The working directory of the script is the job's folder. The script can report its progress
#' with `remotist::progress(0.5, "half way")`, and request a checkpoint with `remotist::checkpoint()`.
#'
#' @param name A name for the job, at most 200 bytes.
#' @param exec_file The script to run: a path inside `folder_path`.
#' @param cpu Number of CPU cores that the job needs.
#' @param disc,ram Disc space and memory that the job needs, in MB. The default is 1024 each; for
#'   `disc` it is more when twice the size of the folder does not fit into that.
#' @param price The maximum price, in credits. The default is 1.
#' @param deadline When the job expires if it has not ended: a time, a [difftime], or a number of
#'   seconds from now, at most 366 days. By default it does not expire.
#' @param folder_path The folder to upload.
#' @param partialResultsVars Names of variables of the script to watch while the job runs, see
#'   [watchVar()]: a variable `"x"`, an element such as `"fit$loss"`, `"state@n"` or `"x[[2]]"`,
#'   and either with a rule: `"x every 5"` (at most one record in five seconds) or
#'   `"loss by 0.01"` (a record when the number differs from the last recorded one by more than one
#'   per cent). At most 64.
#' @param checkpoint Whether the state of the script is saved from time to time, so that another machine
#'   can continue it when its machine disappears. With `FALSE`, the job then starts from the beginning. The
#'   result is the same. [checkpointReport()] reports where a script allows checkpoints.
#' @returns The job, an object of class `remotist_job`. All functions that take a job's id
#'   accept it.
#' @seealso [waitJob()], [watchVar()], [loadJob()], [downloadJob()], [cancelJob()], [jobHistory()]
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
                   folder_path = ".", partialResultsVars = c(), checkpoint = TRUE) {
  call <- environment()
  check_required(c("name", "exec_file"), call)
  wanted <- list(
    name = check_string(name, "name", job_name_bytes_max, call),
    exec_file = check_string(exec_file, "exec_file", path_bytes_max, call),
    cpu = check_whole(cpu, "cpu", 1, cpu_cores_max, "cores", call),
    disc = if (!is.null(disc)) check_whole(disc, "disc", disc_mb_min, disc_mb_max, "MB", call),
    ram = if (!is.null(ram)) check_whole(ram, "ram", ram_mb_min, ram_mb_max, "MB", call),
    price = if (!is.null(price)) check_price(price, "credits", call),
    deadline = if (!is.null(deadline)) check_deadline(deadline, call),
    partial_results_vars = check_watched(partialResultsVars, call),
    # TRUE is the market's default.
    checkpoint = if (!check_flag(checkpoint, "checkpoint", call)) FALSE
  )
  folder <- check_folder(folder_path, call)
  login_token(call)
  files <- read_folder(folder, call)
  wanted$exec_file <- check_script(wanted$exec_file, folder, files, call)
  files$is_code[files$path == wanted$exec_file] <- TRUE
  if (is.null(disc)) wanted$disc <- disc_for(sum(files$size))
  inform_upload(folder, files, wanted$name)

  code <- if (nrow(files) == 1L && files$size <= inline_script_bytes_max()) inline_text(file.path(folder, files$path), files$size)
  job <- if (!is.null(code)) send_inline(wanted, code, call) else send_folder(wanted, folder, files, call)
  cli::cli_inform(c(v = "Submitted job {.val {job$id}}. It continues when this R session ends."))
  job
}

# A script that is sent within the job's JSON: escaped line ends and quotes double its size there.
inline_script_bytes_max <- function() min(inline_code_bytes_max, (json_bytes_max - 16 * 1024) / 2)

check_script <- function(script, folder, files, call) {
  script <- gsub("\\", "/", script, fixed = TRUE)
  script <- sub("^(\\./)+", "", script)
  if (script %in% files$path) return(script)
  reason <- if (grepl("^(/|[A-Za-z]:|~)|(^|/)\\.\\.(/|$)", script)) {
    "The path is not relative to the folder, or leaves it."
  } else if (file.exists(file.path(folder, script))) {
    "The file exists, but is excluded from the upload: by its name, or by {.file .remotistignore}."
  } else {
    "The file does not exist."
  }
  abort_remotist("invalid_argument", c(
    "{.arg exec_file} must be a path inside {.arg folder_path}: {.file {script}} is not in {.file {folder}}.",
    x = reason,
    i = "For example {.code addJob(\"name\", \"main.R\", folder_path = \"my-job\")}."
  ), argument = "exec_file", call = call)
}

# Twice the size of the folder, so that the script can write as much again.
disc_for <- function(bytes) as.integer(min(max(1024, ceiling(2 * bytes / 2^20) + 64), disc_mb_max))

# The text of a small file; NULL when JSON cannot represent it, or only at several times its size.
inline_text <- function(path, size) {
  bytes <- readBin(path, "raw", size)
  if (any(bytes < as.raw(32L) & !bytes %in% as.raw(c(9L, 10L, 13L)))) return(NULL)
  text <- rawToChar(bytes)
  Encoding(text) <- "UTF-8"
  if (validUTF8(text)) text
}

send_inline <- function(wanted, code, call) {
  body <- c(wanted, list(code = code, submit = TRUE))
  new_job(parse_body(send_request("PUT", "/job/", body, headers = list(`Idempotency-Key` = new_key()), idempotent = TRUE, call = call), call))
}

send_folder <- function(wanted, folder, files, call) {
  check_balance(wanted$price, call)
  documents <- with_upload_advice(upload_files(folder, files, call), call)
  job <- new_job(parse_body(send_request("PUT", "/job/", wanted, headers = list(`Idempotency-Key` = new_key()), idempotent = TRUE, call = call), call))
  delete_unless_submitted(job, call, {
    for (role in c("code", "data")) attach_files(job$id, role, documents[files$is_code == (role == "code")], call)
    submit(job$id, call)
  })
}

# Checked before a large upload, not after it.
check_balance <- function(price, call) {
  price <- if (is.null(price)) 1 else price
  balance <- as.numeric(parse_body(send_request("GET", "/user/", call = call), call)$balance)
  if (price <= balance) return(invisible())
  costs <- credits_text(price)
  has <- credits_text(balance)
  abort_remotist("insufficient_credits", c(
    "Your account does not have enough credits.",
    x = "The price of the job is {costs}, the balance of your account {has}.",
    i = advice_for("insufficient_credits")
  ), status = 402L, field = "price", retryable = FALSE, call = call)
}

# Uploads the chunks of the files. Returns how the market is to be told of each file: by its text when it is small, else by its
# chunks.
upload_files <- function(folder, files, call) {
  inline_left <- inline_files_bytes_max
  documents <- vector("list", nrow(files))
  chunks <- list()
  for (i in seq_len(nrow(files))) {
    path <- file.path(folder, files$path[[i]])
    size <- files$size[[i]]
    text <- if (size <= min(inline_left, inline_file_bytes_max)) inline_text(path, size)
    if (!is.null(text)) {
      inline_left <- inline_left - size
      documents[[i]] <- list(path = files$path[[i]], text = text)
    } else {
      chunks[[i]] <- chunks_of(path)
      documents[[i]] <- list(path = files$path[[i]], size = sum(chunks[[i]]$size), chunks = I(chunks[[i]]$name))
    }
  }
  chunks <- do.call(rbind, chunks)
  if (!is.null(chunks) && nrow(chunks)) upload_chunks(chunks, call)
  documents
}

# Small files are sent inline, up to these sizes for one and for all of a job.
inline_file_bytes_max <- 8192
inline_files_bytes_max <- 256 * 1024

# Estimated bytes of JSON in one request that attaches files, well below the market's limit for a request body.
attach_bytes_max <- 400 * 1024

attach_files <- function(id, role, documents, call) {
  weight <- vapply(documents, function(document) 400 + 70 * length(document$chunks) + 2 * sum(nchar(document$text, "bytes")), 0)
  for (batch in split(documents, cumsum(weight) %/% attach_bytes_max)) {
    send_request("POST", paste0("/job/", id, "/", role), list(files = unname(batch)), idempotent = TRUE, call = call)
  }
}

submit <- function(id, call) {
  tryCatch(
    new_job(parse_body(send_request("POST", paste0("/job/", id, "/submit"), idempotent = TRUE, call = call), call)),
    # An earlier try may have been executed although its response was lost.
    remotist_wrong_state = function(refusal) {
      job <- fetch_job(id, call)
      if (identical(job$state, "uploading")) stop(refusal)
      job
    }
  )
}

with_upload_advice <- function(work, call) {
  advice <- "No job was created. Call {.fn addJob} again with the same folder: chunks that were uploaded are not sent again."
  tryCatch(work,
    remotist_error = function(cause) {
      abort_remotist(cause$code, c("The files of the job could not be uploaded.", i = advice), parent = cause, status = cause$status, call = call)
    },
    interrupt = function(cause) {
      abort_remotist("interrupted", c("The upload was interrupted.", i = advice), call = call)
    }
  )
}

# Runs `work`; when it fails, deletes the job, which nobody could submit later. The error names the job when that fails, too.
delete_unless_submitted <- function(job, call, work) {
  abandon <- function(code, cause) {
    id <- job$id
    deleted <- tryCatch(
      {
        send_request("DELETE", paste0("/job/", id), idempotent = TRUE, max_tries = 2L, call = call)
        TRUE
      },
      remotist_not_found = function(e) TRUE,
      error = function(e) FALSE
    )
    advice <- if (deleted) {
      "The job was deleted. Call {.fn addJob} again: chunks that were uploaded are not sent again."
    } else {
      "The job is still at the market, but does not run and costs nothing. Delete it with {.code deleteJob(\"{id}\")}, then call {.fn addJob} again."
    }
    abort_remotist(code, c("The job could not be submitted.", i = advice), parent = cause, status = cause$status, job = id, call = call)
  }
  tryCatch(work,
    remotist_error = function(cause) abandon(cause$code, cause),
    interrupt = function(cause) abandon("interrupted", NULL)
  )
}
