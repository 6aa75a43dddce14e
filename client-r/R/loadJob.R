#' Load a job's result
#'
#' Brings the variables that the script left into an environment. Who ran the job
#' is unknown to you, so what comes is distrusted: unless you say `trust = TRUE`,
#' only plain data is loaded (vectors, lists, factors, data frames, dates and the like), and
#' these are left out, with a message that says so:
#'
#' * functions, environments, code (calls, formulas, expressions), S4 objects and pointers, and
#'   whatever contains one of these: a fitted model, for example, contains its formula;
#' * objects of classes that R acts upon when it prints them, such as a `bibentry`, in whose text R runs code, and factors
#'   whose contrasts name an unknown function;
#' * objects that contradict themselves, such as a matrix with more rows than it has numbers, and sequences
#'   (`1:1e9`) that would take more than 256 MiB together;
#' * names that hide something of base R or a data set (`T`, `c`, `iris`), and names that begin with a dot;
#' * names of variables that you have already with another value, unless you say `overwrite = TRUE`.
#'
#' A data.table comes without its internal pointer and its indices: call `data.table::setDT()` on it before you change it by
#' reference.
#'
#' Nothing else of the result is even made into an R object. With `trust = TRUE` all
#' of it is loaded as it is: do that only when you would run code of whoever lent
#' the machine. Below R 4.4 reading an untrusted result can run code, so it is
#' refused unless you trust it.
#'
#' @inheritParams viewJob
#' @param envir Where the variables go.
#' @param trust Whether to load everything as it is.
#' @param overwrite Whether to replace variables that you have already.
#' @returns The names of the variables that were loaded, invisibly.
#' @seealso [downloadJob()] for the files that the job made, [waitJob()]
#' @examplesIf nzchar(Sys.getenv("REMOTIST_URL")) && nzchar(Sys.getenv("REMOTIST_VOLUNTEERS"))
#' email <- paste0(basename(tempfile("load-")), "@example.org")
#' register(email, "correct horse battery")
#' login(email, "correct horse battery")
#' folder <- tempfile()
#' dir.create(folder)
#' writeLines("x <- mean(rnorm(1e6))", file.path(folder, "main.R"))
#' job <- addJob("a mean", "main.R", folder_path = folder)
#' waitJob(job)
#' result <- new.env()
#' loadJob(job, envir = result)
#' result$x
#' deleteJob(job)
#' logout()
#' @export
loadJob <- function(id, envir = .GlobalEnv, trust = FALSE, overwrite = trust) {
  call <- environment()
  check_given("id", call)
  id <- id_of(id, "id", "job", call)
  if (!is.environment(envir)) abort_argument("envir", "must be an environment", envir, call = call)
  check_flag(trust, "trust", call)
  check_flag(overwrite, "overwrite", call)
  if (!trust) check_reader(getRversion(), call)
  check_completed(id, call)
  file <- file_named(list_files(id, "output", call), "result.rds")
  if (is.null(file)) {
    abort_remotist("damaged", c(
      "Job {.val {id}} is completed, but brought no result.",
      i = "{.code jobLog(\"{id}\")} shows what it printed. Whoever ran it may have cheated: send it again."
    ), call = call)
  }
  bytes <- file_bytes(id, file, 2^31 - 1, call)
  result <- if (trust) read_trusted(bytes, id, call) else read_untrusted(bytes, id, call)
  loaded <- place(result$values, envir, trust, overwrite)
  tell_loaded(id, loaded$names, c(result$left_out, loaded$left_out), intersect(result$tables, loaded$names))
  invisible(loaded$names)
}

check_reader <- function(version, call, how = "loadJob(id, trust = TRUE)") {
  if (version >= "4.4.0") return(invisible())
  abort_remotist("old_r", c(
    "This R is too old to load a result that you do not trust.",
    x = "Below 4.4, R can be made to run code by reading data; this is R {version}.",
    i = "Update R. If you trust whoever ran the job with your session, use {.code {how}}."
  ), call = call)
}

check_completed <- function(id, call) {
  job <- new_job(answer(ask("GET", paste0("/job/", id), call = call), call))
  if (identical(job$state, "completed")) return(invisible())
  advice <- if (!has_ended(job)) {
    "Wait for it: {.code waitJob(\"{id}\")}."
  } else if (identical(job$state, "failed")) {
    "{.code jobError(\"{id}\")} shows why, {.code jobLog(\"{id}\")} what it printed, and {.code downloadJob(\"{id}\", dir)} brings the files that it made."
  } else {
    "There will be none: send the job again."
  }
  abort_remotist("no_result", c("Job {.val {id}} has no result.", x = "It is {job$state}.", i = advice), state = job$state, call = call)
}

read_trusted <- function(bytes, id, call) {
  values <- tryCatch(unserialize(bytes), error = function(e) abort_unreadable(id, conditionMessage(e), call))
  if (!is.list(values) || length(values) && is.null(names(values))) abort_unreadable(id, "it is not a list of variables", call)
  list(values = values, left_out = character())
}

read_untrusted <- function(bytes, id, call) {
  tryCatch(read_result(bytes), remotist_stream = function(e) abort_unreadable(id, conditionMessage(e), call))
}

abort_unreadable <- function(id, why, call) {
  why <- sentence(why)
  abort_remotist("damaged", c(
    "The result of job {.val {id}} cannot be read.",
    x = "{why}",
    i = "Whoever ran the job may have cheated: send it again. {.code downloadJob(\"{id}\", dir)} brings the files that it made."
  ), call = call)
}

# One by one what may go into the user's environment.
place <- function(values, envir, trust, overwrite) {
  names <- names(values)
  reasons <- vapply(seq_along(names), function(i) {
    reason <- place_variable(names[[i]], .subset2(values, i), envir, trust, overwrite)
    if (is.null(reason)) NA_character_ else reason
  }, "")
  names(reasons) <- names
  list(names = names[is.na(reasons)], left_out = reasons[!is.na(reasons)])
}

# NULL, or why it was not placed.
place_variable <- function(name, value, envir, trust, overwrite) {
  if (is.na(name) || !nzchar(name)) return("a variable without a name")
  if (nchar(name, "bytes") > name_bytes_most) return("a name that is too long")
  if (Encoding(name) == "bytes") return("a name that is not valid UTF-8")
  risk <- if (!trust) name_risk(name)
  if (!is.null(risk)) return(risk)
  if (!overwrite && exists(name, envir = envir, inherits = FALSE)) {
    same <- !bindingIsActive(name, envir) && identical(get(name, envir = envir, inherits = FALSE), value)
    if (!same) return("a variable that you have already")
  }
  put_variable(name, value, envir)
}

# What R allows.
name_bytes_most <- 10000L

# Plain data named like a function hides no function from a call, but base is left alone altogether.
name_risk <- function(name) {
  if (startsWith(name, ".")) return("a name that begins with a dot")
  if (exists(name, envir = baseenv(), inherits = FALSE)) return("a name of base R")
  for (package in c("datasets", "utils", "stats", "methods", "graphics", "grDevices")) {
    where <- paste0("package:", package)
    if (where %in% search() && exists(name, where, inherits = FALSE) && !exists(name, where, mode = "function", inherits = FALSE)) {
      return(paste("a name of", package))
    }
  }
  NULL
}

put_variable <- function(name, value, envir) {
  tryCatch(
    {
      assign(name, value, envir = envir)
      NULL
    },
    error = function(e) "a name that cannot be set there"
  )
}

# `tables`: those of `names` that are data.tables without their pointers.
tell_loaded <- function(id, names, left_out, tables) {
  more <- length(left_out) - 20L
  shown <- utils::head(left_out, 20L)
  lines <- sprintf("%s: %s", short_text(names(shown)), shown)
  # cli shows at most 20 of these.
  names <- short_text(names)
  tables <- short_text(tables)
  taken <- any(left_out == "a variable that you have already")
  cli::cli_inform(c(
    v = if (length(names)) "Loaded {.var {names}}." else "Nothing was loaded.",
    if (length(lines)) c("!" = "Left out:"),
    bullets(lines, "*"),
    if (more > 0L) c(" " = "and {more} more"),
    if (length(lines)) c(i = "A stranger's machine made this, so only plain data is loaded. If you trust it: {.code loadJob(\"{id}\", trust = TRUE)}."),
    if (length(tables)) c(i = "{.var {tables}} came without the internal pointer of data.table: call {.code data.table::setDT()} on {?it/each} before you change it by reference."),
    if (taken) c(i = "To replace what you have: {.code loadJob(\"{id}\", overwrite = TRUE)}.")
  ))
}
