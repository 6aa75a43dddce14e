# Steps through a script's top-level expressions: the native side calls next_step() for each.

script <- new.env(parent = emptyenv())

begin_script <- function(exprs, plainly = FALSE) {
  script$exprs <- as.list(exprs)
  script$step <- 0L
  script$first <- NULL
  script$plainly <- plainly
  script$text <- script$lines <- NULL
  script$file <- ""
  if (!plainly) prepare_script()
}

prepare_script <- function() {
  rewriting$facts <- analyse(as.expression(script$exprs))
  engine_state$code <- NULL
}

# In the child that writes: the line where each top-level expression begins, or integer() where the text is unknown. The script itself
# is parsed without its lines, because it must not find references to them in its functions.
script_lines <- function() {
  if (!is.null(script$lines)) return(script$lines)
  if (is.null(script$text)) return(integer())
  refs <- tryCatch(suppressWarnings(attr(parse(text = script$text, keep.source = TRUE, encoding = "UTF-8"), "srcref")), error = function(e) NULL)
  vapply(refs, function(ref) ref[[1L]], 0L)
}

# "" or why a resume is refused: for example, packages of the checkpoint may be missing.
resume_script <- function(file) tryCatch(load_checkpoint(file), error = conditionMessage)

load_checkpoint <- function(file) {
  state <- .Call(native$read_state, file)
  why <- why_not_resume(state)
  if (nzchar(why)) return(why)
  .Call(native$relink, state, if (isNamespaceLoaded("data.table")) function(x) do.call(data.table::setalloccol, list(x)))
  script$exprs <- state$script
  script$lines <- state$lines
  script$file <- state$file
  prepare_script()
  rewriting$number <- max(rewriting$number, state$number)
  restore_job_files(file, state$session)
  restore_session(state$session)
  restore_packages(state$packages, state$variables, state$process)
  reopen_connections(state$connections)
  restore_globals(state$globals, state$session)
  for (one in state$finalizers) do.call(reg.finalizer, one)
  restore_stack_value(state, globalenv())
  # R permits the assignment only if the variable exists.
  if (!is.null(state$session$last_warning)) try(assign("last.warning", state$session$last_warning, envir = baseenv()), silent = TRUE)
  session$warnings <- state$session$warnings
  engine_state$generation <- state$generation
  engine_state$frames_left <- state$frames
  script$step <- state$step - 1L
  script$rewritten <- state$rewritten
  script$first <- if (!is.null(state$position)) rest_of(state$rewritten, state$position)
  ""
}

next_step <- function() {
  if (isTRUE(script$plainly)) {
    script$step <- script$step + 1L
    return(if (script$step <= length(script$exprs)) script$exprs[script$step])
  }
  if (is.null(script$first)) .Call(native$clean_global)
  engine_state$resumed <- list()
  engine_state$code <- NULL
  script$step <- script$step + 1L
  if (script$step > length(script$exprs)) return(NULL)
  expr <- script$exprs[[script$step]]
  if (!is.null(script$first)) {
    code <- compile_expression(script$first, globalenv(), expr)
    script$first <- NULL
    repeat_warnings()
  } else {
    session$warnings <- list()
    if (.Call(native$flag) && .Call(native$is_wanted_here)) save_checkpoint(NULL, list())
    code <- step_code(expr)
  }
  engine_state$base <- length(.Call(native$frames, 1L))
  engine_state$code <- code
  list(code)
}

step_code <- function(expr) {
  script$rewritten <- expr
  if (!is.call(expr) || nzchar(why_not_rewritable(expr)) && !is_call_to(expr, assignment_names)) return(expr)
  rewriting$facts$formals <- NULL
  rewriting$once <- TRUE
  on.exit(rewriting$once <- FALSE)
  new <- if (nzchar(why_not_rewritable(without_functions(expr)))) plain(expr) else statement(expr)
  # Without loops, compiling takes longer than one evaluation.
  if (.Call(native$only_numbered, new, expr)) {
    script$rewritten <- new
    return(expr)
  }
  # An expression that cannot be compiled raises its own error when it is evaluated.
  code <- tryCatch(compile_expression(new, globalenv(), expr), error = function(e) NULL)
  if (is.null(code)) return(expr)
  script$rewritten <- new
  code
}

# --- requesting checkpoints

schedule_checkpoints <- function(folder, every_ms = NA, at = integer(), die = FALSE) {
  engine_state$folder <- folder
  engine_state$generation <- c(engine_state$generation, 0L)[[1L]]
  engine_state$every_ms <- every_ms
  engine_state$at <- at
  .Call(native$want_at, at)
  engine_state$die <- die
  if (length(at)) .Call(native$keep_raised, TRUE) else if (!is.na(every_ms)) .Call(native$raise_flag_after, every_ms)
}

# Before anything runs: a script that is killed before its first checkpoint must find its folder as it was.
save_initial_checkpoint <- function() {
  script$step <- 1L
  save_checkpoint(NULL, list())
  reap_writer(TRUE)
  script$step <- 0L
  engine_state$taken <- 0L
  engine_state$pauses <- numeric()
  engine_state$taken_at <- numeric()
}
