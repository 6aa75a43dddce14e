# Saves a checkpoint at a safe point, or records why that is refused there.

engine_state <- new.env(parent = emptyenv())

reset_counts <- function() {
  .Call(native$want_at, integer())
  engine_state$taken <- 0L
  engine_state$pauses <- numeric()
  engine_state$taken_at <- numeric()
  engine_state$refusals <- list()
  engine_state$refused_in_row <- 0L
  engine_state$not_before <- -Inf
  engine_state$at <- integer()
  engine_state$every_ms <- NA_real_
  engine_state$die <- FALSE
  engine_state$resumed <- list()
  engine_state$frames_left <- list()
}

# Retries after `wait_ms`, at first after 2 to 256 ms, doubling: the obstacle may persist.
refuse <- function(why, wait_ms = min(256, 2 * 2^engine_state$refused_in_row)) {
  force(wait_ms)
  engine_state$refusals[[why]] <- c(engine_state$refusals[[why]], 0L)[[1L]] + 1L
  engine_state$refused_in_row <- engine_state$refused_in_row + 1L
  .Call(native$report_refusal, why)
  .Call(native$set_flag, FALSE)
  if (!length(engine_state$at)) .Call(native$raise_flag_after, wait_ms)
  invisible(FALSE)
}

# Compiled code calls this when the flag is up and a checkpoint is wanted here.
at_safe_point <- function(number) {
  frames <- .Call(native$frames, 1L)
  save_checkpoint(number, frames)
  NULL
}

save_checkpoint <- function(number, frames) {
  began <- .Call(native$now)
  .Call(native$set_pending, FALSE)
  if (.Call(native$is_other_process)) {
    .Call(native$set_flag, FALSE)
    return(invisible(FALSE))
  }
  # At counted safe points a checkpoint must not be skipped because the previous one is still being written.
  reap_writer(length(engine_state$at) > 0L)
  if (.Call(native$is_writing)) return(refuse("the last checkpoint is still being written"))
  if (began < engine_state$not_before && !length(engine_state$at)) {
    .Call(native$set_flag, FALSE)
    return(invisible(FALSE))
  }
  located <- if (is.null(number)) list(frames = list()) else locate_frames(frames, number)
  if (is.character(located)) return(refuse_and_retry(located))
  if (length(located$frames) && !engine_state$true_frames) return(refuse_and_retry("calls cannot be restored in this version of R"))
  if (!.Call(native$run_pending_finalizers) && mentions(as.expression(script$exprs), "reg.finalizer")) {
    return(refuse_and_retry("finalizers, in this version of R"))
  }
  why <- why_not_now()
  if (nzchar(why)) return(refuse_and_retry(why))
  state <- collect_state(located)
  if (is.character(state)) return(refuse_and_retry(state))
  .Call(native$set_flag, FALSE)
  if (!.Call(native$fork_and_write, as.call(list(prepare_state, state)), engine_state$folder, began)) return(refuse("no process can be created"))
  engine_state$pauses <- c(engine_state$pauses, 1000 * (.Call(native$now) - began))
  engine_state$taken_at <- c(engine_state$taken_at, began)
  if (engine_state$die && length(engine_state$at)) {
    if (reap_writer(TRUE)) .Call(native$kill_self)
    .Call(native$set_pending, TRUE)
  }
  if (!is.na(engine_state$every_ms)) .Call(native$raise_flag_after, engine_state$every_ms)
  invisible(TRUE)
}

# A checkpoint that was requested by the number of its safe point is saved at the next one where it is possible.
refuse_and_retry <- function(why) {
  refuse(why)
  if (length(engine_state$at)) .Call(native$set_pending, TRUE)
  invisible(FALSE)
}

# Checks on the child that writes; TRUE when it has completed a checkpoint.
reap_writer <- function(wait) {
  if (!.Call(native$is_writing)) return(FALSE)
  why <- .Call(native$writer_result, wait)
  if (is.null(why)) return(FALSE)
  if (nzchar(why)) {
    # The next attempt forks again, which costs more than finding an obstacle.
    wait_ms <- min(30000, 100 * 2^engine_state$refused_in_row)
    refuse(why, wait_ms)
    engine_state$not_before <- .Call(native$now) + wait_ms / 1000 - 0.001
    return(FALSE)
  }
  engine_state$taken <- engine_state$taken + 1L
  engine_state$refused_in_row <- 0L
  engine_state$not_before <- -Inf
  TRUE
}

own_environments <- function() list(engine, engine_state)

# In the child: a list of what is to be written, and about_state(), or a string: what cannot be saved.
prepare_state <- function(state) {
  known <- own_environments()
  packages <- packages_now(known)
  if (is.character(packages)) return(packages)
  why <- .Call(native$why_unsaveable, state, known)
  if (nzchar(why)) return(paste0(why, " in ", name_of_unsaveable(state$globals, known)))
  state$packages <- packages$records
  state$variables <- packages$variables
  state$finalizers <- .Call(native$finalizers, state, known)
  .Call(native$mark_tables, state)
  .Call(native$mark_promises, state)
  state$lines <- script_lines()
  list(packages$paths, state, about_state(state, packages$paths$versions))
}

# For the manifest (write.cc). Packages that each runner has loaded before its job (Rcpp) are not named.
about_state <- function(state, versions) {
  others <- versions[!names(versions) %in% c(packages_of_r, session$before)]
  line <- if (state$step %in% seq_along(state$lines)) state$lines[[state$step]] else 0L
  call <- if (length(state$frames)) describe(state$frames[[length(state$frames)]]$call) else ""
  list(enc2utf8(c(state$r, R.version$arch, state$file, call)), line, enc2utf8(paste(names(others), others, recycle0 = TRUE)))
}

name_of_unsaveable <- function(globals, known) {
  for (name in names(globals)) if (nzchar(.Call(native$why_unsaveable, globals[name], known))) return(name)
  "a call in progress"
}

# --- the position of each call

same <- function(a, b) .Call(native$same, a, b)

wrapper_functions <- lapply(c("tryCatch", "try", "withCallingHandlers", "suppressWarnings", "suppressMessages",
                              "system.time", "identity", "force", "withVisible"), get, baseenv())
wrapper_parts <- c("tryCatchList", "tryCatchOne", "doTryCatch", "withOneRestart", "withRestarts", "doWithOneRestart",
                   "docall", "makeRestart")
passing_functions <- list(do.call = do.call, Recall = Recall, NextMethod = NextMethod)

# What makes the call whose value is the function's own value (UseMethod, do.call, ...), or "" if the function is not of that form.
passes_on <- function(fn) {
  for (name in names(passing_functions)) if (same(passing_functions[[name]], fn)) return(name)
  body <- body(fn)
  last <- body
  while (is_call_to(last, "{") && length(last) > 1L) last <- last[[length(last)]]
  if (!is_call_to(last, c("UseMethod", "standardGeneric", ".local"))) return("")
  by <- as.character(last[[1L]])
  # Made by setMethod() for a method with other arguments than its generic: .local <- function..., and the call.
  if (by == ".local" && !(length(body) == 3L && is_call_to(body[[2L]], assignment_names))) return("")
  if (length(calls_to(body, by, "function")) == 1L) by else ""
}

# Whether `frame` is the last call of the function of the frame `from`. An argument that R evaluates to choose a method, or an
# argument of do.call(), may call the same function.
is_passed <- function(from, frame, of) {
  switch(passes_on(from$fn),
    UseMethod = , NextMethod = from$dispatches,
    standardGeneric = same(frame$call, from$call) && same(frame$promargs, from$promargs),
    .local = is_call_to(frame$call, ".local") && same(frame$parent, from$env),
    Recall = !is.null(of) && same(frame$fn, of$fn) && same(frame$call, of$call),
    do.call = is_called_by_do_call(from$env, frame),
    FALSE)
}

is_called_by_do_call <- function(env, frame) {
  for (name in c("args", "quote", "envir")) if (is.null(.Call(native$evaluated, env, name))) return(FALSE)
  what <- .Call(native$evaluated, env, "what")
  head <- frame$call[[1L]]
  if (is.character(what)) is.symbol(head) && as.character(head) == what else is.function(what) && same(head, what) && same(frame$fn, what)
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
  if (is.null(of) && is.call(engine_state$code)) return(.Call(native$site_in_expression, engine_state$code, script$rewritten, frame$call))
  codes <- if (is.null(of)) list(engine_state$code) else list(.Call(native$code_of, of$fn), resumed_entry(of$env)$code)
  for (code in codes) {
    number <- .Call(native$site, code, frame$call)
    if (number != 0L) return(number)
  }
  0L
}

# The site of a call whose expression R creates anew (apply_loops.R): `.cp.at` has its number.
noted_site <- function(of, frame) {
  if (is.null(of)) return(0L)
  number <- of$env[[".cp.at"]]
  head <- frame$call[[1L]]
  if (is.null(number) || !(is.symbol(head) && as.character(head) %in% c("FUN", "f"))) return(0L)
  number
}

# Whether native$stack_value finds the first of two summands while the second is evaluated.
test_stack_reading <- function() {
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

# The operand that the code of `of` has on R's stack while the site from which `frame` was called is in progress: list(value),
# or NULL when there is none; FALSE when it cannot be read.
stack_value_at <- function(of, site, frame) {
  body <- if (is.null(of)) script$rewritten else .Call(native$info_of, of$fn)$body
  if (!.Call(native$has_stack_value, body, site)) return(NULL)
  if (!engine_state$can_read_stack) return(FALSE)
  if (!is.null(resumed_entry(frame$env))) return(list(get(as.character(stack_value_name(site)), if (is.null(of)) globalenv() else of$env)))
  stack_value <- .Call(native$stack_value, frame$env)
  if (is.null(stack_value)) FALSE else stack_value
}

describe <- function(call) {
  head <- call[[1L]]
  if (is.symbol(head)) as.character(head) else paste(deparse(head, nlines = 1L), collapse = "")
}

# The frames that must be saved, each with the position in its code; or a string: why they cannot be saved.
locate_frames <- function(frames, number) {
  if (is.null(frames)) return("calls cannot be saved in this version of R")
  frames <- frames[seq_along(frames) > engine_state$base]
  kept <- list()
  of <- NULL
  current <- globalenv()
  top <- list()
  passing <- NULL
  set_position <- function(at, stack_value = NULL) {
    about <- list(position = at, stack_value = stack_value)
    if (length(kept)) kept[[length(kept)]][names(about)] <<- about else top <<- about
  }
  for (frame in frames) {
    if (typeof(frame$fn) != "closure") next
    if (!is.null(passing) && !is_passed(passing$frame, frame, of)) {
      return(paste0("an argument of ", describe(passing$frame$call), "() is being evaluated"))
    }
    if (!is.null(.Call(native$info_of, frame$fn))) {
      if (is.null(passing)) {
        site <- site_in(of, frame)
        if (is.null(resumed_entry(frame$env)) && !same(frame$parent, current)) {
          return(paste0(describe(frame$call), "() is called from a lazily evaluated argument or by R itself"))
        }
        if (site == 0L) site <- noted_site(of, frame)
        if (site == 0L) return(paste0("a call of ", describe(frame$call), "() stands within an expression"))
        stack_value <- stack_value_at(of, site, frame)
      } else {
        # It uses the frame of the enclosing method, which is not saved.
        if (identical(frame$call[[1L]], quote(.local)) && mentions(body(frame$fn), "callNextMethod")) {
          return("a method with other arguments than its generic calls the next one")
        }
        site <- passing$site
        stack_value <- passing$stack_value
        passing <- NULL
      }
      if (isFALSE(stack_value)) return(paste0("a call of ", describe(frame$call), "() stands within an expression"))
      set_position(site, stack_value)
      frame$site <- site
      kept[[length(kept) + 1L]] <- frame
      of <- frame
      current <- frame$env
    } else if (nzchar(passes_on(frame$fn))) {
      if (length(frame$conexit)) return(paste0(describe(frame$call), "() has on.exit code"))
      if (is.null(passing)) {
        if (!same(frame$parent, current)) return(paste0(describe(frame$call), "() is called from a lazily evaluated argument"))
        site <- site_in(of, frame)
        if (site == 0L) site <- noted_site(of, frame)
        if (site == 0L) return(paste0("a call of ", describe(frame$call), "() stands within an expression"))
        passing <- list(site = site, frame = frame, stack_value = stack_value_at(of, site, frame))
      } else {
        passing$frame <- frame
      }
    } else if (is_wrapper(frame) && is.null(passing)) {
      next
    } else {
      return(paste0("within ", describe(frame$call), "()"))
    }
  }
  if (!is.null(passing)) return(paste0("an argument of ", describe(passing$frame$call), "() is being evaluated"))
  set_position(number)
  list(frames = kept, position = top$position, stack_value = top$stack_value)
}
