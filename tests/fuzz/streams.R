# Throws changed R streams at the reader of results that nobody trusts (client-r/R/stream.R), and as many changed texts at the
# readers of paths (path.R) and of error documents (jobError.R).
#   Rscript tests/fuzz/streams.R [COUNT] [FOLDER]   COUNT streams (default: 100000); one that breaks the reader stays in FOLDER
# The streams are read in processes of their own, ten thousand each, so that a crash is seen and its stream known.
# REMOTIST_TEST_SEED repeats a run; REMOTIST_FUZZ_LIBRARY names the library with the package.
arguments <- commandArgs(trailingOnly = TRUE)
library(remotist, lib.loc = if (nzchar(Sys.getenv("REMOTIST_FUZZ_LIBRARY"))) Sys.getenv("REMOTIST_FUZZ_LIBRARY"))
here <- new.env(parent = asNamespace("remotist"))
sys.source("client-r/tests/testthat/setup-mutation.R", here)

# Reads `count` streams of this seed. With `keep` each is written there before it is read.
child <- function(seed, count, keep, scratch) {
  # Less than a user would allow: what is unfolded is printed here.
  assignInNamespace("expanded_bytes_max", 2^20, "remotist")
  set.seed(seed)
  corpus <- here$mutation_corpus()
  texts <- here$mutation_texts()
  to <- file(tempfile(tmpdir = scratch), "wb")
  for (i in seq_len(count)) {
    bytes <- here$mutated(corpus)
    if (nzchar(keep)) writeBin(bytes, keep)
    fault <- here$mutation_fault(bytes, i %% 4L == 0L, to)
    if (is.null(fault)) {
      bytes <- here$mutated_text(texts)
      if (nzchar(keep)) writeBin(bytes, paste0(keep, ".text"))
      fault <- here$text_fault(bytes)
    }
    if (!is.null(fault)) {
      cat("seed", seed, "stream", i, ":", fault, "\n")
      cat("bytes:", as.character(utils::head(bytes, 2000L)), "\n")
      quit(status = 3L)
    }
    # What was printed is not kept.
    if (i %% 2000L == 0L) seek(to, 0, rw = "write")
  }
}

if (identical(arguments[1L], "child")) {
  child(as.integer(arguments[[2L]]), as.integer(arguments[[3L]]), arguments[[4L]], arguments[[5L]])
  quit(status = 0L)
}

count <- if (length(arguments) >= 1L) suppressWarnings(as.integer(arguments[[1L]])) else 100000L
if (is.na(count) || count < 1L) stop("the number of streams must be a whole number from 1 on", call. = FALSE)
folder <- if (length(arguments) >= 2L) arguments[[2L]] else tempdir()
seed <- as.integer(Sys.getenv("REMOTIST_TEST_SEED", as.character(Sys.getpid())))
per_child <- min(count, 10000L)
batches <- ceiling(count / per_child)
cat("seed", seed, "\n")

# Address space is bounded: a stream must not take memory either.
run_child <- function(seed, keep = "") {
  script <- shQuote(file.path("tests", "fuzz", "streams.R"))
  command <- sprintf("ulimit -v 4000000; exec Rscript --vanilla %s child %d %d %s %s", script, seed, per_child, shQuote(keep), shQuote(tempdir()))
  output <- suppressWarnings(system2("sh", c("-c", shQuote(command)), stdout = TRUE, stderr = TRUE))
  status <- attr(output, "status")
  list(status = if (is.null(status)) 0L else status, output = utils::tail(as.character(output), 20L))
}

began <- proc.time()[["elapsed"]]
rows <- parallel::detectCores()
for (from in seq(1L, batches, by = rows)) {
  seeds <- (seed + seq(from, min(from + rows - 1L, batches))) %% .Machine$integer.max
  for (i in which(vapply(ran <- parallel::mclapply(seeds, run_child, mc.cores = rows), function(one) one$status != 0L, NA))) {
    keep <- file.path(folder, paste0("streams-", seeds[[i]]))
    again <- run_child(seeds[[i]], keep)
    cat(ran[[i]]$output, "status", ran[[i]]$status, if (again$status == 0L) "not again" else paste0("the input: ", keep, " or ", keep, ".text"), sep = "\n")
    quit(status = 1L)
  }
}
seconds <- proc.time()[["elapsed"]] - began
cat(sprintf("%d streams, %.0f a second\n", batches * per_child, batches * per_child / seconds))
