#' Load the result of a job
#'
#' Loads the global variables of the script at its end into an environment. The result comes from a
#' machine that you do not know, so by default only plain data is loaded: vectors, lists, factors, data
#' frames, dates and the like. These are omitted, with a message:
#'
#' * functions, environments, code (calls, formulas, expressions), S4 objects and pointers, and
#'   objects that contain one of them: a fitted model, for example, contains its formula;
#' * objects whose class has a print method with effects, such as a `bibentry`, whose text can
#'   contain code, and factors whose contrasts name an unknown function;
#' * inconsistent objects, such as a matrix whose dimensions do not match its length, and sequences
#'   (`1:1e9`) that together would take more than 256 MiB;
#' * variables whose name hides an object of base R or a data set (`T`, `c`, `iris`) or begins with a
#'   dot;
#' * variables that already exist in `envir` with another value, unless you set `overwrite = TRUE`.
#'
#' A data.table is loaded without its internal pointer and its indices: call `data.table::setDT()` on
#' it before you modify it by reference.
#'
#' No R object is created from omitted data. With `trust = TRUE` the whole result is loaded without
#' checks: use it only if you would run code from the owner of the machine. Below R 4.4, reading
#' untrusted data can run code, so `trust = TRUE` is required there.
#'
#' @inheritParams viewJob
#' @param envir The environment that the variables are assigned in.
#' @param trust Whether to load the whole result without checks.
#' @param overwrite Whether to replace existing variables.
#' @returns The names of the variables that were loaded, invisibly.
#' @seealso [downloadJob()] for the files of the job, [waitJob()]
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
  check_required("id", call)
  id <- id_of(id, "id", "job", call)
  if (!is.environment(envir)) abort_argument("envir", "must be an environment", envir, call = call)
  check_flag(trust, "trust", call)
  check_flag(overwrite, "overwrite", call)
  if (!trust) check_r_version(getRversion(), call)
  check_completed(id, call)
  file <- find_file(list_files(id, "output", call), "result.rds")
  if (is.null(file)) {
    abort_remotist("damaged", c(
      "Job {.val {id}} is completed, but has no result.",
      i = "The machine that ran the job may be faulty or dishonest: submit the job again. {.code jobLog(\"{id}\")} shows its log."
    ), call = call)
  }
  bytes <- file_bytes(id, file, loaded_bytes_max, call)
  result <- if (trust) read_trusted(bytes, id, call) else read_untrusted(bytes, id, call)
  loaded <- assign_variables(result$values, envir, trust, overwrite)
  inform_loaded(id, loaded$names, c(result$omitted, loaded$omitted), intersect(result$tables, loaded$names))
  invisible(loaded$names)
}

check_r_version <- function(version, call, how = "loadJob(id, trust = TRUE)") {
  if (version >= "4.4.0") return(invisible())
  abort_remotist("old_r", c(
    "This version of R cannot read untrusted data safely.",
    x = "Below R 4.4, reading data can run code. This is R {version}.",
    i = "Update R. If you trust the machine that ran the job, use {.code {how}}."
  ), call = call)
}

check_completed <- function(id, call) {
  job <- fetch_job(id, call)
  if (identical(job$state, "completed")) return(invisible())
  advice <- if (!has_ended(job)) {
    "Wait until it has ended: {.code waitJob(\"{id}\")}."
  } else if (identical(job$state, "failed")) {
    "{.code jobError(\"{id}\")} shows the error, {.code jobLog(\"{id}\")} the log, and {.code downloadJob(\"{id}\", dir)} downloads its files."
  } else {
    "It will have none: submit the job again."
  }
  abort_remotist("no_result", c("Job {.val {id}} has no result.", x = "Its state is {.val {job$state}}.", i = advice), state = job$state, call = call)
}

read_trusted <- function(bytes, id, call) {
  values <- tryCatch(unserialize(bytes), error = function(e) abort_unreadable(id, conditionMessage(e), call))
  if (!is.list(values) || length(values) && is.null(names(values))) abort_unreadable(id, "it is not a list of variables", call)
  list(values = values, omitted = character())
}

read_untrusted <- function(bytes, id, call) {
  tryCatch(read_result(bytes), remotist_stream = function(e) abort_unreadable(id, conditionMessage(e), call))
}

abort_unreadable <- function(id, why, call) {
  why <- sentence(why)
  abort_remotist("damaged", c(
    "The result of job {.val {id}} cannot be read.",
    x = "{why}",
    i = "The machine that ran the job may be faulty or dishonest: submit the job again. {.code downloadJob(\"{id}\", dir)} downloads its files."
  ), call = call)
}

# Assigns the variables that may go into the user's environment.
assign_variables <- function(values, envir, trust, overwrite) {
  names <- names(values)
  reasons <- vapply(seq_along(names), function(i) {
    reason <- assign_variable(names[[i]], .subset2(values, i), envir, trust, overwrite)
    if (is.null(reason)) NA_character_ else reason
  }, "")
  names(reasons) <- names
  list(names = names[is.na(reasons)], omitted = reasons[!is.na(reasons)])
}

# NULL, or the reason why the variable was not assigned.
assign_variable <- function(name, value, envir, trust, overwrite) {
  if (is.na(name) || !nzchar(name)) return("it has no name")
  if (nchar(name, "bytes") > r_name_bytes_max) return("its name is too long")
  if (Encoding(name) == "bytes") return("its name is not valid UTF-8")
  risk <- if (!trust) name_risk(name)
  if (!is.null(risk)) return(risk)
  if (!overwrite && exists(name, envir = envir, inherits = FALSE)) {
    same <- !bindingIsActive(name, envir) && identical(get(name, envir = envir, inherits = FALSE), value)
    if (!same) return("a variable of this name exists")
  }
  try_assign(name, value, envir)
}

# R's own limit.
r_name_bytes_max <- 10000L

# Plain data does not hide a function of the same name from a call, but names of base R are never used.
name_risk <- function(name) {
  if (startsWith(name, ".")) return("its name begins with a dot")
  if (exists(name, envir = baseenv(), inherits = FALSE)) return("base R has an object of this name")
  for (package in c("datasets", "utils", "stats", "methods", "graphics", "grDevices")) {
    where <- paste0("package:", package)
    if (where %in% search() && exists(name, where, inherits = FALSE) && !exists(name, where, mode = "function", inherits = FALSE)) {
      return(paste(package, "has an object of this name"))
    }
  }
  NULL
}

try_assign <- function(name, value, envir) {
  tryCatch(
    {
      assign(name, value, envir = envir)
      NULL
    },
    error = function(e) "it cannot be assigned in this environment"
  )
}

# `tables`: those of `names` that are or contain data.tables, loaded without their pointers.
inform_loaded <- function(id, names, omitted, tables) {
  more <- length(omitted) - 20L
  shown <- utils::head(omitted, 20L)
  lines <- sprintf("%s: %s", short_text(names(shown)), shown)
  # cli shows at most 20 names.
  names <- short_text(names)
  tables <- short_text(tables)
  has_conflict <- any(omitted == "a variable of this name exists")
  cli::cli_inform(c(
    v = if (length(names)) "Loaded {.var {names}}." else "Nothing was loaded.",
    if (length(lines)) c("!" = "Omitted:"),
    bullets(lines, "*"),
    if (more > 0L) c(" " = "and {more} more"),
    if (length(lines)) c(i = "The result comes from a machine that you do not know, so only plain data is loaded. If you trust it: {.code loadJob(\"{id}\", trust = TRUE)}."),
    if (length(tables)) c(i = "{.var {tables}} {?was/were} loaded without the internal pointer of data.table: call {.code data.table::setDT()} before you modify {?it/them} by reference."),
    if (has_conflict) c(i = "To replace existing variables: {.code loadJob(\"{id}\", overwrite = TRUE)}.")
  ))
}
