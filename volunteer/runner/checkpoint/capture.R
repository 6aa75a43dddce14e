# Takes a checkpoint at a safe point, or says why it cannot be taken there.

engine_state <- new.env(parent = emptyenv())

reset_counts <- function() {
  .Call(native$want_at, integer())
  engine_state$taken <- 0L
  engine_state$pauses <- numeric()
  engine_state$taken_at <- numeric()
  engine_state$refusals <- list()
  engine_state$refused_in_row <- 0L
  engine_state$at <- integer()
  engine_state$every_ms <- NA_real_
  engine_state$die <- FALSE
  engine_state$resumed <- list()
  engine_state$frames_left <- list()
}

refuse <- function(why) {
  engine_state$refusals[[why]] <- c(engine_state$refusals[[why]], 0L)[[1L]] + 1L
  engine_state$refused_in_row <- engine_state$refused_in_row + 1L
  .Call(native$set_flag, FALSE)
  # Again after a while, ever longer: what is in the way may stay for long.
  if (!length(engine_state$at)) .Call(native$arm, min(256, 2^engine_state$refused_in_row))
  invisible(FALSE)
}

# Called by compiled code when the flag is up, and a checkpoint is wanted here.
at_safe_point <- function(number) {
  frames <- .Call(native$frames, 1L)
  take(number, frames)
  NULL
}

take <- function(number, frames) {
  began <- .Call(native$now)
  .Call(native$owe, FALSE)
  # Counted ones are taken where they were asked for, however fast the script is.
  settle(length(engine_state$at) > 0L)
  if (.Call(native$under_way)) return(refuse("the last checkpoint is still being written"))
  placed <- if (is.null(number)) list(frames = list()) else place(frames, number)
  if (is.character(placed)) return(refuse_and_owe(placed))
  if (length(placed$frames) && !engine_state$true_frames) return(refuse_and_owe("calls cannot be restored in this version of R"))
  if (!.Call(native$settle_finalizers) && mentions(as.expression(script$exprs), "reg.finalizer")) {
    return(refuse_and_owe("finalizers, in this version of R"))
  }
  why <- cannot_save_now()
  if (nzchar(why)) return(refuse_and_owe(why))
  state <- whole_state(placed)
  if (is.character(state)) return(refuse_and_owe(state))
  .Call(native$set_flag, FALSE)
  if (!.Call(native$fork_and_write, as.call(list(look_through, state)), engine_state$folder)) return(refuse("no process can be made"))
  engine_state$pauses <- c(engine_state$pauses, 1000 * (.Call(native$now) - began))
  engine_state$taken_at <- c(engine_state$taken_at, began)
  if (engine_state$die && length(engine_state$at)) {
    if (settle(TRUE)) .Call(native$die)
    .Call(native$owe, TRUE)
  }
  if (!is.na(engine_state$every_ms)) .Call(native$arm, engine_state$every_ms)
  invisible(TRUE)
}

# One that was asked for by its ordinal is taken at the next safe point where it can be.
refuse_and_owe <- function(why) {
  refuse(why)
  if (length(engine_state$at)) .Call(native$owe, TRUE)
  invisible(FALSE)
}

# Looks what became of the child; TRUE when a checkpoint got complete.
settle <- function(wait) {
  if (!.Call(native$under_way)) return(FALSE)
  why <- .Call(native$written, wait)
  if (is.null(why)) return(FALSE)
  if (nzchar(why)) {
    refuse(why)
    return(FALSE)
  }
  engine_state$taken <- engine_state$taken + 1L
  engine_state$refused_in_row <- 0L
  TRUE
}

own_environments <- function() list(engine, engine_state)

# In the child: all that is to be written, or what is in the way within the values.
look_through <- function(state) {
  known <- own_environments()
  packages <- packages_now(known)
  if (is.character(packages)) return(packages)
  why <- .Call(native$cannot_save, state, known)
  if (nzchar(why)) return(paste0(why, " in ", place_of_unsaveable(state$globals, known)))
  state$packages <- packages$records
  state$variables <- packages$variables
  state$finalizers <- .Call(native$finalizers, state, known)
  .Call(native$mark_tables, state)
  list(packages$ways, state)
}

place_of_unsaveable <- function(globals, known) {
  for (name in names(globals)) if (nzchar(.Call(native$cannot_save, globals[name], known))) return(name)
  "a call that is under way"
}

# --- where each call stands

same <- function(a, b) .Call(native$same, a, b)

wrapper_functions <- lapply(c("tryCatch", "try", "withCallingHandlers", "suppressWarnings", "suppressMessages",
                              "system.time", "identity", "force", "withVisible"), get, baseenv())
wrapper_parts <- c("tryCatchList", "tryCatchOne", "doTryCatch", "withOneRestart", "withRestarts", "doWithOneRestart",
                   "docall", "makeRestart")
passing_functions <- list(do.call = do.call, Recall = Recall, NextMethod = NextMethod)

# The value of such a frame is the value of the call that it ends with.
passes_on <- function(fn) {
  for (one in passing_functions) if (same(one, fn)) return(TRUE)
  body <- body(fn)
  while (is_call_to(body, "{") && length(body) > 1L) body <- body[[length(body)]]
  is_call_to(body, c("UseMethod", "standardGeneric", ".local"))
}

is_wrapper <- function(frame) {
  for (one in wrapper_functions) if (same(one, frame$fn)) return(TRUE)
  head <- frame$call[[1L]]
  is.symbol(head) && as.character(head) %in% wrapper_parts && identical(topenv(environment(frame$fn)), baseenv())
}

resumed_entry <- function(env) {
  for (one in engine_state$resumed) if (same(one$env, env)) return(one)
  NULL
}

# The number of the site in the code of `of` (a frame, or NULL for the top level) whose call is `frame`.
site_in <- function(of, frame) {
  entry <- resumed_entry(frame$env)
  if (!is.null(entry)) return(entry$site)
  if (is.null(of) && is.call(engine_state$code)) return(.Call(native$site_in_text, engine_state$code, script$rewritten, frame$call))
  codes <- if (is.null(of)) list(engine_state$code) else list(.Call(native$code_of, of$fn), resumed_entry(of$env)$code)
  for (code in codes) {
    number <- .Call(native$site, code, frame$call)
    if (number != 0L) return(number)
  }
  0L
}

# Calls whose expression R makes anew: only those that `.cp.at` was set for.
noted_site <- function(of, frame) {
  if (is.null(of)) return(0L)
  number <- of$env[[".cp.at"]]
  head <- frame$call[[1L]]
  if (is.null(number) || !(is.symbol(head) && as.character(head) %in% c("FUN", "f"))) return(0L)
  number
}

# Does R keep the first of two summands, while the second is evaluated, where native$held_value looks for it?
holds_values <- function() {
  value <- c(1, 2)
  found <- FALSE
  look <- quote({
    found <<- .Call(native$stack_test, environment(), value)
    value
  })
  sum <- compiler$cmpfun(function() value + inner())
  inner <- eval(call("function", NULL, look))
  sum()
  first <- found
  inner <- compiler$cmpfun(inner)
  sum()
  first && found
}

# The value that the code of `of` holds while the site is under way that `frame` was called from: list(value), or NULL when
# it holds none; FALSE when it cannot be told.
held_at <- function(of, site, frame) {
  body <- if (is.null(of)) script$rewritten else .Call(native$info_of, of$fn)$body
  if (!.Call(native$holds_value, body, site)) return(NULL)
  if (!engine_state$held_values) return(FALSE)
  if (!is.null(resumed_entry(frame$env))) return(list(get(as.character(held_name(site)), if (is.null(of)) globalenv() else of$env)))
  held <- .Call(native$held_value, frame$env)
  if (is.null(held)) FALSE else held
}

describe <- function(call) {
  head <- call[[1L]]
  if (is.symbol(head)) as.character(head) else paste(deparse(head, nlines = 1L), collapse = "")
}

# The frames that must be saved, each with the position in its code; or why that cannot be.
place <- function(frames, number) {
  if (is.null(frames)) return("calls cannot be saved in this version of R")
  frames <- frames[seq_along(frames) > engine_state$base]
  kept <- list()
  of <- NULL
  current <- globalenv()
  top <- list()
  passing <- NULL
  set_position <- function(at, held = NULL) {
    about <- list(position = at, held = held)
    if (length(kept)) kept[[length(kept)]][names(about)] <<- about else top <<- about
  }
  for (frame in frames) {
    if (typeof(frame$fn) != "closure") next
    if (!is.null(.Call(native$info_of, frame$fn))) {
      site <- site_in(of, frame)
      if (is.null(passing)) {
        if (is.null(resumed_entry(frame$env)) && !same(frame$parent, current)) {
          return(paste0(describe(frame$call), "() is called from a lazily evaluated argument or by R itself"))
        }
        if (site == 0L) site <- noted_site(of, frame)
        if (site == 0L) return(paste0("a call of ", describe(frame$call), "() stands within an expression"))
        held <- held_at(of, site, frame)
      } else {
        if (site != 0L && !same(frame$call, passing$call)) return(paste0("an argument of ", describe(passing$call), "() is being evaluated"))
        # It looks at the frame of the method around it, which is not saved.
        if (identical(frame$call[[1L]], quote(.local)) && mentions(body(frame$fn), "callNextMethod")) {
          return("a method with other arguments than its generic calls the next one")
        }
        site <- passing$site
        held <- passing$held
        passing <- NULL
      }
      if (isFALSE(held)) return(paste0("a call of ", describe(frame$call), "() stands within an expression"))
      set_position(site, held)
      frame$site <- site
      kept[[length(kept) + 1L]] <- frame
      of <- frame
      current <- frame$env
    } else if (passes_on(frame$fn)) {
      if (length(frame$conexit)) return(paste0(describe(frame$call), "() has something to do at its end"))
      if (is.null(passing)) {
        if (!same(frame$parent, current)) return(paste0(describe(frame$call), "() is called from a lazily evaluated argument"))
        site <- site_in(of, frame)
        if (site == 0L) site <- noted_site(of, frame)
        if (site == 0L) return(paste0("a call of ", describe(frame$call), "() stands within an expression"))
        passing <- list(site = site, call = frame$call, held = held_at(of, site, frame))
      } else {
        passing$call <- frame$call
      }
    } else if (is_wrapper(frame) && is.null(passing)) {
      next
    } else {
      return(paste0("within ", describe(frame$call), "()"))
    }
  }
  if (!is.null(passing)) return(paste0("an argument of ", describe(passing$call), "() is being evaluated"))
  set_position(number)
  list(frames = kept, position = top$position, held = top$held)
}
