# A job in the runner: from its beginning, or from the checkpoint in the descriptor `from`, if that is not negative. `out` is
# where checkpoints go.

begin_job <- function(exprs, out, every_ms, from) {
  session$folder <- getwd()
  engine_state$generation <- 0L
  if (from < 0L) {
    begin_script(exprs)
  } else {
    why <- resume_script(from)
    if (nzchar(why)) stop("the checkpoint cannot be gone on from: ", why, call. = FALSE)
  }
  note_warnings()
  ask(out, every_ms)
  invisible()
}
