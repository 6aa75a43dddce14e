# Why the engine refuses to resume from some checkpoints. Run by engine_test.R.
here <- dirname(normalizePath(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE))))
root <- dirname(dirname(here))
dyn.load(Sys.getenv("REMOTIST_CHECKPOINT_NATIVE", file.path(root, "build/bin/checkpoint_native.so")))
folder <- file.path(root, "volunteer/runner/checkpoint")
source(file.path(folder, "load.R"))
engine <- load_engine_from(folder, .Call("checkpoint_natives"))
good <- list(format = engine$format_version, r = as.character(getRversion()), frames = list(list()))
stopifnot(
  engine$engine_state$true_frames, engine$why_not_resume(good) == "",
  grepl("made by R 99.1", engine$why_not_resume(replace(good, "r", "99.1.0"))),
  grepl("format", engine$why_not_resume(replace(good, "format", 99L)))
)
engine$engine_state$true_frames <- FALSE
stopifnot(grepl("cannot be restored", engine$why_not_resume(good)))
cat("refused as they should be\n")
