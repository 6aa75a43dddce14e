# The state of a script, and the code that continues it.

format_version <- 3L

collect_state <- function(located) {
  connections <- connections_now()
  unread <- copy_job_files()
  if (nzchar(unread)) return(paste0("a file that is not a regular file, or cannot be read: ", basename(unread)))
  globals <- .Call(native$bindings, globalenv())
  saved <- session_now()
  globals <- globals[!names(globals) %in% names(saved$active)]
  engine_state$generation <- engine_state$generation + 1L
  list(format = format_version, r = paste(R.version$major, R.version$minor, sep = "."), generation = engine_state$generation,
       script = script$exprs, file = script$file, step = script$step, rewritten = if (!is.null(located$position)) script$rewritten,
       number = rewriting$number, position = located$position, stack_value = located$stack_value, frames = located$frames, globals = globals,
       session = saved, connections = connections, process = Sys.getpid())
}

# Why this process cannot resume from a checkpoint, or "".
why_not_resume <- function(state) {
  if (is.character(state)) return(state)
  if (!identical(state$format, format_version)) return(paste0("the checkpoint has format ", state$format, ", this engine reads ", format_version))
  if (package_version(state$r)[, 1:2] > getRversion()[, 1:2]) {
    return(paste0("the checkpoint was made by R ", state$r, ", this is R ", getRversion()))
  }
  if (length(state$frames) && !engine_state$true_frames) return("calls cannot be restored in this version of R")
  ""
}

# --- code that continues from a position in rewritten code

contains_number <- function(e, number) {
  if (!is.call(e)) return(FALSE)
  if (identical(number_of(e), number)) return(TRUE)
  if (is_function_literal(e)) return(FALSE)
  for (i in seq_along(e)) if (!is_missing(e[[i]]) && is.call(e[[i]]) && contains_number(e[[i]], number)) return(TRUE)
  FALSE
}

# The rest of `e` from the site or safe point with this number on.
rest_of <- function(e, number) {
  if (identical(number_of(e), number)) {
    return(if (is_call_to(e, ".Call") && identical(e[[2L]], native$safe_point)) NULL else as.call(list(call("$", engine, quote(resume_next_frame)))))
  }
  name <- head_name(e)
  old <- attr(e, "remotist")
  if (name == "if" && identical(e[[2L]], the_flag)) return(NULL)
  if (name == "{") {
    at <- 2L
    while (!contains_number(e[[at]], number)) at <- at + 1L
    return(block(c(list(rest_of(e[[at]], number)), if (at < length(e)) as.list(e)[(at + 1L):length(e)])))
  }
  if (name %in% loop_names) return(rest_of_loop(e, number, name, old$loop))
  if (name == "if" || name == "switch") {
    if (contains_number(e[[2L]], number)) return(with_rest_at(e, 2L, number))
    for (i in seq_along(e)[-(1:2)]) if (!is_missing(e[[i]]) && contains_number(e[[i]], number)) return(rest_of(e[[i]], number))
  }
  if (name %in% assignment_names) return(with_rest_at(e, 3L, number))
  if (name %in% wrapper_names) return(with_rest_at(e, 2L, number))
  # The operands before it can be evaluated again, or their value was saved.
  if (name %in% c(strict_names, "$", "@", "[", "[[", "&&", "||")) {
    if (identical(old$held_site, number)) e[2L] <- list(stack_value_name(number))
    for (i in seq_along(e)[-1L]) if (!is_missing(e[[i]]) && contains_number(e[[i]], number)) return(with_rest_at(e, i, number))
  }
  stop("a checkpoint within  ", name, "()")
}

# The variable that has the operand from R's stack after a resume.
stack_value_name <- function(number) hidden(number, "v")

with_rest_at <- function(e, at, number) {
  old <- attr(e, "remotist")
  e[at] <- list(rest_of(e[[at]], number))
  if (!is.null(old)) attr(e, "remotist") <- old
  e
}

# The iteration in progress runs in a loop of its own, so that `break` and `next` keep their meaning in it.
rest_of_loop <- function(e, number, name, about) {
  half <- hidden(about$number, "h")
  turn <- hidden(about$number, "t")
  if (name == "while" && contains_number(e[[2L]], number)) {
    new <- e
    new[[2L]] <- call("if", half, block(list(assign_to(half, FALSE), rest_of(e[[2L]], number))), e[[2L]])
    attr(new, "remotist") <- attr(e, "remotist")
    return(block(list(assign_to(half, TRUE), new)))
  }
  begun <- call("for", turn, quote(1:2), block(list(
    call("if", call("==", turn, 2L), block(list(assign_to(half, FALSE), quote(break)))),
    rest_of(e[[length(e)]], number))))
  more <- call("!", half)
  others <- e
  if (name == "for") {
    sequence <- about$sequence
    done <- if (about$derived) call("+", call("abs", call("-", e[[2L]], call("[", sequence, 1L))), 1) else hidden(about$number, "i")
    others[[3L]] <- native_call("rest", sequence, done)
    attr(others, "remotist") <- attr(e, "remotist")
    # A loop over nothing would set its variable to NULL.
    more <- call("&&", more, call("<", done, call("length", sequence)))
  }
  block(list(assign_to(half, TRUE), begun, call("if", more, others)))
}

# --- resuming

restore_stack_value <- function(from, env) if (!is.null(from$stack_value)) assign(as.character(stack_value_name(from$position)), from$stack_value[[1L]], envir = env)

# This call becomes the next saved frame.
resume_next_frame <- function() .External2(native$resume_frame, (frame <- next_saved_frame()), frame$code)

next_saved_frame <- function() {
  frame <- engine_state$frames_left[[1L]]
  engine_state$frames_left <- engine_state$frames_left[-1L]
  info <- .Call(native$info_of, frame$fn)
  body <- if (is.null(info)) frame$body else info$body
  restore_stack_value(frame, frame$env)
  code <- compile_expression(rest_of(body, frame$position), frame$env, body(frame$fn))
  engine_state$resumed <- c(engine_state$resumed, list(list(env = frame$env, code = code, site = frame$site)))
  frame$code <- code
  frame
}
