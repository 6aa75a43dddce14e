# What the tests through the R package share: an installed package, folders of their own, claims. Sourced first.

library(remotist, lib.loc = Sys.getenv("REMOTIST_R_LIB", "build/r-lib"))
scratch <- tempfile("e2e-")
dir.create(scratch)
Sys.setenv(
  R_USER_CONFIG_DIR = file.path(scratch, "config"), R_USER_DATA_DIR = file.path(scratch, "data"),
  REMOTIST_R_LIB = dirname(system.file(package = "remotist"))
)
options(warn = 1, cli.num_colors = 1L)

# A claim, and what must hold for it.
claim <- function(words, code) {
  cat("==", words, "\n")
  force(code)
  invisible()
}

expect <- function(...) {
  conditions <- list(...)
  for (i in seq_along(conditions)) {
    if (!isTRUE(conditions[[i]])) {
      stop("not so: ", paste(deparse(substitute(list(...))[[i + 1L]]), collapse = " "), call. = FALSE)
    }
  }
}

# The condition of that class which the code must raise.
raised <- function(code, class) {
  caught <- tryCatch(
    {
      force(code)
      NULL
    },
    error = identity
  )
  if (is.null(caught)) stop("no error was raised, where ", class, " should have been", call. = FALSE)
  if (!inherits(caught, class)) stop("not ", class, " but ", paste(class(caught), collapse = " "), ": ", conditionMessage(caught), call. = FALSE)
  caught
}

# What the code tells the user.
said <- function(code) {
  lines <- character()
  withCallingHandlers(code, message = function(m) {
    lines <<- c(lines, conditionMessage(m))
    cat(conditionMessage(m))
    invokeRestart("muffleMessage")
  })
  paste(gsub("[[:space:]]+", " ", lines), collapse = " ")
}

until <- function(what, condition, seconds = 240, otherwise = NULL) {
  ends <- Sys.time() + seconds
  while (!condition()) {
    if (Sys.time() > ends && !is.null(otherwise)) otherwise()
    if (Sys.time() > ends) stop("not within ", seconds, " s: ", what, call. = FALSE)
    Sys.sleep(0.1)
  }
}

password <- "correct horse battery"
new_account <- function(name) {
  email <- sprintf("%s-%d-%s@example.org", name, Sys.getpid(), paste(sample(letters, 6L), collapse = ""))
  register(email, password)
  login(email, password)
  invisible(email)
}

# A folder with these files: names are paths; text, or bytes.
job_folder <- function(...) {
  files <- list(...)
  folder <- tempfile("job-", scratch)
  for (path in names(files)) {
    dir.create(dirname(file.path(folder, path)), recursive = TRUE, showWarnings = FALSE)
    if (is.raw(files[[path]])) writeBin(files[[path]], file.path(folder, path)) else writeLines(files[[path]], file.path(folder, path))
  }
  folder
}

# Another R session, which runs these lines; its output goes to the file that is returned, its pid first.
another_session <- function(lines) {
  script <- tempfile("session-", scratch, ".R")
  out <- paste0(script, ".out")
  writeLines(c(
    "cat(Sys.getpid(), '\\n')", "library(remotist, lib.loc = Sys.getenv('REMOTIST_R_LIB'))", "options(cli.num_colors = 1L)", lines
  ), script)
  # A shell's background jobs ignore Ctrl-C, unless told not to.
  system2("env", c("--default-signal=INT", file.path(R.home("bin"), "Rscript"), "--vanilla", shQuote(script)), stdout = out, stderr = out, wait = FALSE)
  until("another session starts", function() file.exists(out) && length(readLines(out, warn = FALSE)) > 0L)
  out
}
# For a claim that did not come true: what it said.
told_by <- function(out) function() cat("the other session:", lines_of(out), sep = "\n    ")
lines_of <- function(out) readLines(out, warn = FALSE)
pid_of <- function(out) as.integer(lines_of(out)[[1L]])

# A statement to the stack's database, for what takes days otherwise.
in_database <- function(statement) {
  status <- system2("psql", c("-X", "-q", shQuote(Sys.getenv("REMOTIST_DATABASE_URL")), "-c", shQuote(statement)))
  if (status != 0L) stop("the database refused: ", statement, call. = FALSE)
}
