# Starts a job in the runner: from its beginning, or from the checkpoint in the descriptor `from`, if that is not negative. `out` is
# the folder for checkpoints.

begin_job <- function(exprs, out, every_ms, from) {
  session$folder <- getwd()
  engine_state$generation <- 0L
  if (from < 0L) {
    begin_script(exprs)
  } else {
    why <- resume_script(from)
    if (nzchar(why)) stop("cannot resume from the checkpoint:  ", why, call. = FALSE)
  }
  record_warnings()
  schedule_checkpoints(out, every_ms)
  invisible()
}
