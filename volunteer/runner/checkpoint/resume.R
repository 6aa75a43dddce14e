# The whole state, and how a script goes on from it.

format_version <- 2L

whole_state <- function(placed) {
  connections <- connections_now()
  unread <- hold_job_files()
  if (nzchar(unread)) return(paste0("a file that is no plain one, or cannot be read: ", basename(unread)))
  globals <- .Call(native$bindings, globalenv())
  saved <- session_now()
  globals <- globals[!names(globals) %in% names(saved$active)]
  engine_state$generation <- engine_state$generation + 1L
  list(format = format_version, r = paste(R.version$major, R.version$minor, sep = "."), generation = engine_state$generation,
       script = script$exprs, step = script$step, rewritten = if (!is.null(placed$position)) script$rewritten,
       number = rewriting$number, position = placed$position, held = placed$held, frames = placed$frames, globals = globals,
       session = saved, connections = connections, process = Sys.getpid())
}

# Why a checkpoint cannot be gone on from here, or "".
why_not_resume <- function(state) {
  if (is.character(state)) return(state)
  if (!identical(state$format, format_version)) return(paste0("the checkpoint has format ", state$format, ", this engine reads ", format_version))
  if (package_version(state$r)[, 1:2] > getRversion()[, 1:2]) {
    return(paste0("the checkpoint was made by R ", state$r, ", this is R ", getRversion()))
  }
  if (length(state$frames) && !engine_state$true_frames) return("calls cannot be restored in this version of R")
  ""
}

# --- code that goes on from a position in rewritten code

holds <- function(e, number) {
  if (!is.call(e)) return(FALSE)
  if (identical(number_of(e), number)) return(TRUE)
  if (is_function_literal(e)) return(FALSE)
  for (i in seq_along(e)) if (!is_missing(e[[i]]) && is.call(e[[i]]) && holds(e[[i]], number)) return(TRUE)
  FALSE
}

# What is left to do of `e` when the site or safe point with this number is reached.
rest_of <- function(e, number) {
  if (identical(number_of(e), number)) {
    return(if (is_call_to(e, ".Call") && identical(e[[2L]], native$safe_point)) NULL else as.call(list(call("$", engine, quote(take_up)))))
  }
  name <- head_name(e)
  old <- attr(e, "remotist")
  if (name == "if" && identical(e[[2L]], the_flag)) return(NULL)
  if (name == "{") {
    at <- 2L
    while (!holds(e[[at]], number)) at <- at + 1L
    return(block(c(list(rest_of(e[[at]], number)), if (at < length(e)) as.list(e)[(at + 1L):length(e)])))
  }
  if (name %in% loop_names) return(rest_of_loop(e, number, name, old[[3L]]))
  if (name == "if" || name == "switch") {
    if (holds(e[[2L]], number)) return(replaced(e, 2L, number))
    for (i in seq_along(e)[-(1:2)]) if (!is_missing(e[[i]]) && holds(e[[i]], number)) return(rest_of(e[[i]], number))
  }
  if (name %in% assignment_names) return(replaced(e, 3L, number))
  if (name %in% wrapper_names) return(replaced(e, 2L, number))
  # What stands before it in such a call can be evaluated again, or its value was saved.
  if (name %in% c(strict_names, "$", "@", "[", "[[", "&&", "||")) {
    if (length(old) > 2L && identical(old[[3L]], number)) e[2L] <- list(held_name(number))
    for (i in seq_along(e)[-1L]) if (!is_missing(e[[i]]) && holds(e[[i]], number)) return(replaced(e, i, number))
  }
  stop("a checkpoint that stands within ", name, "()")
}

# Where a value that R's stack held while this site was under way is after a resume.
held_name <- function(number) hidden(number, "v")

replaced <- function(e, at, number) {
  old <- attr(e, "remotist")
  e[at] <- list(rest_of(e[[at]], number))
  if (!is.null(old)) attr(e, "remotist") <- old
  e
}

# `break` and `next` keep their meaning in the iteration that was begun: it is done in a loop of its own.
rest_of_loop <- function(e, number, name, about) {
  half <- hidden(about$number, "h")
  turn <- hidden(about$number, "t")
  if (name == "while" && holds(e[[2L]], number)) {
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

# --- going on

take_held <- function(from, env) if (!is.null(from$held)) assign(as.character(held_name(from$position)), from$held[[1L]], envir = env)

# The next frame that was saved takes the place of this call.
take_up <- function() .External2(native$go_on, (frame <- next_saved_frame()), frame$code)

next_saved_frame <- function() {
  frame <- engine_state$frames_left[[1L]]
  engine_state$frames_left <- engine_state$frames_left[-1L]
  info <- .Call(native$info_of, frame$fn)
  body <- if (is.null(info)) frame$body else info$body
  take_held(frame, frame$env)
  code <- compile_expression(rest_of(body, frame$position), frame$env, body(frame$fn))
  engine_state$resumed <- c(engine_state$resumed, list(list(env = frame$env, code = code, site = frame$site)))
  frame$code <- code
  frame
}
