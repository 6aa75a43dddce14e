#!/usr/bin/env -S Rscript --vanilla
# Kills the programs of the corpus while they run, has new processes finish them, and wants the same result to the last bit.
#
#   tests/checkpoint/kill.R [--kills N] [--minutes-max M] [--hops-max 5] [--seed S] [--run K] [--drive DRIVE.R] [--keep]
#     [PROGRAM ...]
#
# A program runs plainly once, then through the engine without a kill, then again and again until it was killed N times (3
# unless told) or M minutes have passed since the start. Each of these runs is up to --hops-max processes that are killed, and
# one that is left to finish. A process is killed either by itself, right after the checkpoint at a safe point of a random
# number (the first ones, where a script sets itself up, come as often as all others), or from outside at a random time while
# it makes checkpoints every 20 to 200 ms; timeout(1) then kills its children with it. The next process finds the folder as
# the dead one left it, or an empty one, as if it were another machine. A program may end in an error; then all must.
#
# What is random depends on the seed, the program and the number of the run alone: --seed S --run K PROGRAM repeats one run.
# A kill by time is repeated at the same time, which need not be the same place.
#
# Prints a line for each program, and where the folders of a failed run are. Status 1 if anything failed.

here <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1L])))
sys.source(file.path(here, "compare.R"), environment())

read_arguments <- function(words) {
  given <- list(kills = "3", "minutes-max" = "600", "hops-max" = "5", seed = as.character(sample.int(1e6L, 1L)), run = NULL,
                drive = Sys.getenv("REMOTIST_DRIVE", file.path(here, "drive.R")))
  programs <- character(0)
  keep <- FALSE
  while (length(words) > 0L) {
    name <- sub("^--", "", words[1L])
    if (words[1L] == "--keep") {
      keep <- TRUE
      words <- words[-1L]
    } else if (!startsWith(words[1L], "--")) {
      programs <- c(programs, words[1L])
      words <- words[-1L]
    } else if (name %in% c(names(given), "run") && length(words) > 1L) {
      given[[name]] <- words[2L]
      words <- words[-(1:2)]
    } else {
      stop("unknown or unfinished argument: ", words[1L], call. = FALSE)
    }
  }
  if (length(programs) == 0L) programs <- sort(list.files(file.path(here, "programs"), "[.]R$", full.names = TRUE))
  short <- !file.exists(programs)
  programs[short] <- file.path(here, "programs", paste0(sub("[.]R$", "", programs[short]), ".R"))
  if (!all(file.exists(programs))) stop("no such program: ", programs[!file.exists(programs)][1L], call. = FALSE)
  list(programs = normalizePath(programs), kills = as.integer(given$kills), run = as.integer(given$run),
       seconds_max = 60 * as.numeric(given[["minutes-max"]]), hops_max = as.integer(given[["hops-max"]]), seed = as.integer(given$seed), drive = normalizePath(given$drive, mustWork = TRUE), keep = keep)
}

missing_package <- function(program) {
  line <- grep("^# Needs the package ", readLines(program, 3L), value = TRUE)
  package <- sub("^# Needs the package ([A-Za-z0-9.]+)[.]$", "\\1", line)
  package[!vapply(package, function(p) nzchar(system.file(package = p)), NA)]
}

# A number for each program, the same on every machine.
number_of <- function(text) Reduce(function(sum, code) (sum * 31 + code) %% 1000003, utf8ToInt(text), 7)

# One process. Yields how it ended, how long it took and what it told of itself.
drive <- function(program, folder, state, ..., result = NULL, killed_after = 120) {
  told_in <- paste0(folder, ".err")
  words <- c(arguments$drive, program, "--folder", folder, "--state", state, ...)
  if (!is.null(result)) words <- c(words, "--result", result)
  command <- paste(c("timeout -s KILL", sprintf("%.3f", killed_after), "Rscript --vanilla", shQuote(words)), collapse = " ")
  from <- proc.time()
  status <- suppressWarnings(system(paste("{", command, "; } >", shQuote(paste0(folder, ".out")), "2>", shQuote(told_in))))
  used <- proc.time() - from
  lines <- readLines(told_in, warn = FALSE)
  last <- tail(grep("^[{].*[}]$", lines, value = TRUE), 1L)
  told <- if (length(last)) tryCatch(jsonlite::fromJSON(last), error = function(e) NULL)
  list(killed = status %in% c(9L, 137L), status = status, seconds = used[["elapsed"]], cpu = sum(used[4:5]), told = told,
       command = command, words = paste(tail(setdiff(lines, last), 3L), collapse = " / "))
}

new_folder <- function(...) {
  path <- file.path(...)
  dir.create(path, recursive = TRUE, showWarnings = FALSE)
  path
}

# The processor time that a process needs beside the program. The first one may have to compile something.
empty_cpu <- function(scratch) {
  program <- file.path(scratch, "empty.R")
  writeLines("# Nothing.", program)
  once <- function(name, ...) drive(program, new_folder(scratch, name), file.path(scratch, paste0(name, ".state")), ...)$cpu
  once("empty")
  c(plain = min(once("empty.plain", "--plain"), once("empty.plain", "--plain")), engine = min(once("empty"), once("empty")))
}

# The processor time of the program alone: as it was told, else what is left of the process's.
cpu_of <- function(process, empty) if (is.null(process$told$cpu_ms)) process$cpu - empty else process$told$cpu_ms / 1000

# What a process that went on wrote is the end of what one writes that does it all.
differences_between <- function(plain, other) {
  wrote <- lapply(paste0(c(plain$folder, other$folder), ".out"), function(file) readChar(file, file.size(file), useBytes = TRUE))
  c(value_differences(readRDS(plain$result), readRDS(other$result)), folder_differences(plain$folder, other$folder),
    if (!endsWith(wrote[[1L]], wrote[[2L]])) "what it printed")
}

# One run with kills. Yields counts, and in `failure` what went wrong, in words.
run_with_kills <- function(program, run, plain, between, safe_points, scratch) {
  set.seed((arguments$seed * 1009 + number_of(basename(program)) + run * 7919) %% 2147483647)
  state <- file.path(scratch, "state")
  commands <- file.path(scratch, "commands.txt")
  counts <- list(kills = 0L, resumes = 0L, refusals = list(), pause = 0, failure = character(0))
  folder <- new_folder(scratch, "work0")
  result <- file.path(scratch, "result.rds")
  left <- safe_points
  kills <- sample.int(arguments$hops_max, 1L)
  for (hop in seq_len(kills + 1L)) {
    # All that is random is drawn for every hop, so that one that ends early does not move the others.
    by_time <- runif(1) < 0.5
    at <- if (runif(1) < 0.5) ceiling(runif(1) * left) else ceiling(left^runif(1))
    after <- between[1L] + runif(1) * diff(between)
    every <- sample(20:200, 1L)
    elsewhere <- runif(1) < 0.5
    resumes <- file.exists(file.path(state, "checkpoint"))
    if (hop > 1L && (elsewhere || !resumes)) folder <- new_folder(scratch, paste0("work", hop - 1L))
    last <- hop > kills
    unlink(result)
    process <- if (last) drive(program, folder, state, result = result)
    else if (by_time) drive(program, folder, state, "--every-ms", every, result = result, killed_after = after)
    else drive(program, folder, state, "--at", format(at, scientific = FALSE), "--die", result = result)
    cat(process$command, "\n", file = commands, append = TRUE)
    counts$resumes <- counts$resumes + resumes
    for (reason in names(process$told$refusals)) {
      counts$refusals[[reason]] <- sum(counts$refusals[[reason]], unlist(process$told$refusals[[reason]]))
    }
    counts$pause <- max(counts$pause, unlist(process$told$pause_ms_max))
    if (!process$killed) break
    if (last) break
    counts$kills <- counts$kills + 1L
    if (!by_time) left <- max(1, left - at)
  }
  counts$failure <-
    if (process$killed) "the last process did not end"
    else if (process$status != plain$process$status) paste0("status ", process$status, ": ", process$words)
    else differences_between(plain, list(result = result, folder = folder))
  counts
}

# Runs one program in all ways, prints its line, and yields whether all went well.
try_program <- function(program, empty, scratch) {
  name <- sub("[.]R$", "", basename(program))
  lacking <- missing_package(program)
  if (length(lacking) > 0L) {
    cat(sprintf("%-20s skipped: package %s is not installed\n", name, lacking[1L]))
    return(TRUE)
  }
  once <- function(way, ...) {
    folder <- new_folder(scratch, way)
    result <- paste0(folder, ".rds")
    process <- drive(program, folder, paste0(folder, ".state"), ..., result = result)
    list(folder = folder, result = result, process = process)
  }
  fail <- function(where, command, differences) {
    cat(sprintf("%-20s FAILED: %s\n", name, where), paste0("    ", head(differences, 8L), "\n"), "  kept: ", scratch,
        "\n  again: ", command, "\n", sep = "")
    FALSE
  }
  # What R leaves behind when it is killed goes with the rest.
  Sys.setenv(TMPDIR = new_folder(scratch, "tmp"))
  plain <- once("plain", "--plain")
  if (!file.exists(plain$result)) return(fail("plain run", plain$process$command, plain$process$words))
  whole <- once("whole")
  if (whole$process$status != plain$process$status) return(fail("run without a kill", whole$process$command, whole$process$words))
  plain$cpu <- cpu_of(plain$process, empty[["plain"]])
  ratio <- if (plain$cpu > 0.1) cpu_of(whole$process, empty[["engine"]]) / plain$cpu else NA
  # By the clock, where the program begins and ends in a process that nobody kills.
  between <- c(min(empty[["engine"]] / whole$process$cpu, 0.9), 1) * whole$process$seconds
  differences <- differences_between(plain, whole)
  if (length(differences) > 0L) return(fail("run without a kill", whole$process$command, differences))
  # Safe points are counted only while a checkpoint is wanted: at one that is never reached.
  counted <- once("counted", "--at", "2000000000")
  safe_points <- max(counted$process$told$safe_points, 1L)

  total <- list(kills = 0L, resumes = 0L, refusals = list(), pause = whole$process$told$pause_ms_max %||% 0)
  failed <- 0L
  runs <- 0L
  told <- Sys.time()
  # A kill by time may come too late: such a run kills nothing.
  while (runs < max(length(arguments$run), 3L * arguments$kills) && !is_over()) {
    if (if (length(arguments$run)) runs > 0L else total$kills >= arguments$kills) break
    runs <- runs + 1L
    run <- c(arguments$run, runs)[1L]
    at <- new_folder(scratch, paste0("run", run))
    one <- run_with_kills(program, run, plain, between, safe_points, at)
    for (count in c("kills", "resumes")) total[[count]] <- total[[count]] + one[[count]]
    for (reason in names(one$refusals)) total$refusals[[reason]] <- sum(total$refusals[[reason]], one$refusals[[reason]])
    total$pause <- max(total$pause, one$pause)
    if (length(one$failure) > 0L) {
      failed <- failed + 1L
      again <- sprintf("tests/checkpoint/kill.R --seed %d --hops-max %d --run %d %s", arguments$seed,
                       arguments$hops_max, run, if (dirname(program) == file.path(here, "programs")) name else program)
      fail(paste("run", run), again, one$failure)
    } else if (!arguments$keep) {
      unlink(at, recursive = TRUE)
    }
    if (Sys.time() - told > 60) {
      told <- Sys.time()
      cat(sprintf("%-20s %d of %d kills, %d failed, so far\n", name, total$kills, arguments$kills, failed))
    }
  }
  refused <- paste(sprintf("%s %d", names(total$refusals), as.integer(unlist(total$refusals))), collapse = ", ")
  cat(sprintf("%-20s %2d runs, %d failed, %3d kills, %3d resumes, ", name, runs, failed, total$kills,
              total$resumes),
      sprintf("%7d safe points, pause %6.2f ms, plain %5.2f s, ratio %4.2f", as.integer(safe_points), total$pause,
              plain$cpu, ratio),
      if (length(total$refusals)) paste0(", refused: ", refused), if (is_over()) ", stopped as time is up", "\n", sep = "")
  failed == 0L
}

began <- Sys.time()
is_over <- function() as.numeric(Sys.time() - began, units = "secs") > arguments$seconds_max

arguments <- read_arguments(commandArgs(trailingOnly = TRUE))
scratch <- tempfile("checkpoint-", tmpdir = Sys.getenv("TMPDIR", "/tmp"))
dir.create(scratch)
Sys.setenv(TZ = "UTC", LC_ALL = "C.UTF-8")
cat("seed ", arguments$seed, "\n", sep = "")
empty <- empty_cpu(scratch)
well <- vapply(arguments$programs, function(program) {
  if (is_over()) {
    cat(sprintf("%-20s not run: time is up\n", sub("[.]R$", "", basename(program))))
    return(TRUE)
  }
  folder <- new_folder(scratch, sub("[.]R$", "", basename(program)))
  well <- try_program(program, empty, folder)
  if (well && !arguments$keep) unlink(folder, recursive = TRUE)
  well
}, NA)
if (all(well) && !arguments$keep) unlink(scratch, recursive = TRUE)
cat(sum(well), "of", length(well), "programs as they should be, seed", arguments$seed, "\n")
quit(status = as.integer(!all(well)))
