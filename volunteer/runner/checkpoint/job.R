# Starts a job in the runner: from its beginning, or from the checkpoint in the descriptor `from`, if that is not negative. `about` is
# c(text of the script, its file), `out` the folder for checkpoints. "" or why it cannot resume from the checkpoint.

begin_job <- function(exprs, about, out, every_ms, from) {
  session$folder <- getwd()
  engine_state$generation <- 0L
  if (from < 0L) {
    begin_script(exprs)
    script$text <- about[[1L]]
    script$file <- about[[2L]]
  } else {
    why <- resume_script(from)
    if (nzchar(why)) return(paste("cannot resume from the checkpoint: ", why))
  }
  record_warnings()
  schedule_checkpoints(out, every_ms)
  ""
}
