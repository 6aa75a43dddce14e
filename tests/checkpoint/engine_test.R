# Each program in engine/ is run without the engine, with it, and killed at safe points and resumed in a new process; all runs must
# end with the same values and files. A program that begins with "# Killed at every safe point" is killed at each of them.
#
#   Rscript tests/checkpoint/engine_test.R [--kills N] [--seed N] [program...]
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
words <- commandArgs(TRUE)
option <- function(name, default) { at <- match(name, words); if (is.na(at)) default else as.integer(words[[at + 1L]]) }
kills <- option("--kills", 3L)
seed <- option("--seed", 1L)
set.seed(seed)
wanted <- words[!startsWith(words, "--") & !words %in% c(kills, seed)]
programs <- list.files(file.path(here, "engine"), "[.]R$", full.names = TRUE)
if (length(wanted)) programs <- programs[sub("[.]R$", "", basename(programs)) %in% wanted]
room <- tempfile("engine_test")
dir.create(room)
# What R leaves behind when it is killed goes with the rest.
Sys.setenv(TMPDIR = room)
failures <- 0L
if (any(basename(programs) == "packages.R")) {
  library <- file.path(room, "library")
  dir.create(library)
  Sys.setenv(R_LIBS = paste(c(library, Sys.getenv("R_LIBS")), collapse = ":"))
  said <- system2("R", c("CMD", "INSTALL", "--no-test-load", "-l", library, file.path(here, "keeper")), stdout = TRUE, stderr = TRUE)
  if (!dir.exists(file.path(library, "keeper"))) stop(paste(c("the package keeper cannot be installed:", said), collapse = "\n"))
}

drive <- function(program, folder, ...) {
  dir.create(folder, showWarnings = FALSE, recursive = TRUE)
  words <- c(file.path(here, "drive.R"), program, "--folder", folder, "--state", file.path(room, "state"), "--result", file.path(room, "result.rds"), ...)
  errors <- file.path(room, "errors")
  status <- suppressWarnings(system2("Rscript", words, stdout = FALSE, stderr = errors))
  last <- grep("^[{]", readLines(errors, warn = FALSE), value = TRUE)
  list(status = status, told = if (length(last)) last[[length(last)]] else "", said = readLines(errors, warn = FALSE),
       values = if (status == 0L) comparable(readRDS(file.path(room, "result.rds"))),
       files = sapply(list.files(folder, recursive = TRUE), function(f) unname(tools::md5sum(file.path(folder, f)))))
}
# What holds an environment of its own is never identical() in two processes.
comparable <- function(values) values[!startsWith(names(values), ".__") & !vapply(values, function(v) isS4(v) && is.function(v), NA)]
number <- function(told, name) as.integer(sub(paste0(".*\"", name, "\":([0-9]+).*"), "\\1", told))
claim <- function(name, holds, said = NULL) {
  if (!isTRUE(holds)) {
    failures <<- failures + 1L
    cat("FAILED: ", name, "\n", sep = "")
    if (length(said)) cat(paste0("    ", utils::tail(said, 5)), sep = "\n")
  }
}
same <- function(a, b) identical(a$values, b$values) && identical(a$files, b$files)
differ <- function(a, b) {
  names <- union(names(a$values), names(b$values))
  paste("differ:", paste(names[!vapply(names, function(n) identical(a$values[[n]], b$values[[n]]), NA)], collapse = " "))
}

for (program in programs) {
  name <- sub("[.]R$", "", basename(program))
  fresh <- function() unlink(file.path(room, c("state", "work", "plain", "whole")), recursive = TRUE)
  fresh()
  plain <- drive(program, file.path(room, "plain"), "--plain")
  claim(paste(name, "ends well"), plain$status == 0L, plain$said)
  whole <- drive(program, file.path(room, "whole"), "--at", "1000000000")
  claim(paste(name, "gives what it gives without the engine"), same(plain, whole), c(whole$said, differ(plain, whole)))
  points <- number(whole$told, "safe_points")
  done <- 0L
  everywhere <- startsWith(readLines(program, 1L), "# Killed at every safe point")
  for (k in seq_len(if (everywhere) points else kills)) {
    unlink(file.path(room, c("state", "work")), recursive = TRUE)
    chain <- if (everywhere) k else sample.int(max(points, 1L), 1L)
    if (!everywhere) chain <- c(chain, sample.int(max(points - chain, 1L), 1L))
    for (at in chain) {
      run <- drive(program, file.path(room, "work"), "--at", at, "--die")
      if (run$status == 0L) break
      done <- done + 1L
    }
    if (run$status != 0L) run <- drive(program, file.path(room, "work"))
    claim(paste0(name, " ends as it would when killed at ", paste(chain, collapse = ", then ")), same(plain, run), c(run$said, differ(plain, run)))
  }
  cat(sprintf("%-14s %6d safe points, %d kills, seed %d\n", name, points, done, seed))
}

if (!length(wanted)) {
  program <- file.path(here, "engine/loops.R")
  unlink(file.path(room, c("state", "work")), recursive = TRUE)
  drive(program, file.path(room, "work"), "--at", "50", "--die")
  kept <- file.path(room, "state/checkpoint")
  bytes <- readBin(kept, "raw", file.size(kept))
  bytes[[length(bytes) %/% 2L]] <- xor(bytes[[length(bytes) %/% 2L]], as.raw(1L))
  writeBin(bytes, kept)
  run <- drive(program, file.path(room, "work"))
  claim("a damaged checkpoint is refused", run$status == 4L && any(grepl("damaged", run$said)), run$said)

  for (odd in c(link = "file.symlink('/etc/hostname', 'odd')", pipe = "system('mkfifo odd')")) {
    unlink(file.path(room, c("state", "work")), recursive = TRUE)
    program <- file.path(room, "odd.R")
    writeLines(c(odd, "for (i in 1:2000) x <- i", "unlink('odd')", "for (i in 1:2000) y <- i"), program)
    run <- drive(program, file.path(room, "work"), "--at", "1,3")
    claim(paste("nothing is saved while the folder has something other than regular files:", odd), run$status == 0L && grepl("not a regular file", run$told), run$said)
  }

  unlink(file.path(room, c("state", "work")), recursive = TRUE)
  program <- file.path(here, "engine/packages.R")
  drive(program, file.path(room, "work"), "--at", "3000", "--die")
  unlink(file.path(library, "keeper"), recursive = TRUE)
  run <- drive(program, file.path(room, "work"))
  claim("a checkpoint whose packages are not here is refused", run$status == 4L && any(grepl("keeper", run$said)), run$said)

  # Checkpoints of an R that is not here, and an R whose calls are not known.
  asked <- system2("Rscript", c("--vanilla", file.path(here, "refusals.R")), stdout = TRUE, stderr = TRUE)
  claim("a checkpoint of a newer R, and calls in an unknown one, are refused", identical(utils::tail(asked, 1L), "refused as they should be"), asked)
}
unlink(room, recursive = TRUE)
cat(if (failures) paste(failures, "failed\n") else "all held\n")
quit("no", as.integer(failures > 0L))
