# Makes R's byte-code compiler put a mark after each assignment to a watched name. Evaluates to a function of two lists of
# native functions: in `marking`, `global_number` yields the number of the watched variable that a call assigns to, or 0, and
# `mark_of` the call to insert; `batches` are for loops that count their changes themselves (loop_batches.h). Evaluated in the
# zygote, called in a job that has watched names.
#
# The compiler looks up a handler for each call that it can inline; the handlers of the assignments and of `for` are wrapped
# here. They leave all work to the original handler: the expressions that compiled code carries are the script's own.

compiler::cmpfun(function(marking, batches) {
  compiler <- asNamespace("compiler")
  handlers <- compiler$inlineHandlers
  op <- function(name) get(paste0(name, ".OP"), compiler)
  call_special <- op("CALLSPECIAL")
  pop <- op("POP")
  invisible_op <- op("INVISIBLE")
  return_op <- op("RETURN")
  start_for <- op("STARTFOR")

  # The cheapest instructions that call a function of R's table: a few nanoseconds.
  put_mark <- function(cb, number, super) {
    cb$putcode(call_special, cb$putconst(.Call(marking$mark_of, number, super)))
    cb$putcode(pop)
  }

  global_of <- function(e) .Call(marking$global_number, e)

  # `<-` in a function assigns to a variable of the function.
  at_top <- function(cntxt) cntxt$env$ftypes[[1L]] == "global"

  assignment <- function(original, super) {
    force(original)
    force(super)
    function(e, cb, cntxt) {
      number <- if (super || at_top(cntxt) && !isTRUE(cntxt$counted)) global_of(e) else 0L
      if (number == 0L) return(original(e, cb, cntxt))
      inner <- cntxt
      inner$tailcall <- FALSE
      if (!original(e, cb, inner)) return(FALSE)
      put_mark(cb, number, super)
      if (cntxt$tailcall) {
        cb$putcode(invisible_op)
        cb$putcode(return_op)
      }
      TRUE
    }
  }

  # The loop's variable has its next value where the body begins: at the first label after STARTFOR that is not the label
  # STARTFOR jumps to.
  loop <- function(original) {
    force(original)
    function(e, cb, cntxt) {
      if (!at_top(cntxt)) return(original(e, cb, cntxt))
      how <- attr(e, "remotist.loop")
      if (identical(how, "counted")) {
        cntxt$counted <- TRUE
        return(original(e, cb, cntxt))
      }
      if (is.null(how) && !isTRUE(cntxt$counted)) {
        globals <- tryCatch(batchable_globals(e, cntxt), error = function(e) integer())
        loop <- if (length(globals) > 0L) .Call(batches$new_loop, globals, e)
        if (!is.null(loop)) {
          compiler$cmp(in_batches(e, loop), cb, cntxt)
          return(TRUE)
        }
      }
      number <- global_of(e)
      if (number == 0L) return(original(e, cb, cntxt))
      end_label <- NULL
      done <- FALSE
      inner <- cb
      inner$putcode <- function(...) {
        if (!done && is.null(end_label) && identical(..1, start_for)) end_label <<- ..4
        cb$putcode(...)
      }
      inner$putlabel <- function(name) {
        cb$putlabel(name)
        if (!done && !is.null(end_label) && !identical(name, end_label)) {
          done <<- TRUE
          put_mark(cb, number, 0L)
        }
      }
      original(e, inner, cntxt)
    }
  }

  # --- loops that change the same variables once in each iteration and call only fast builtins

  not_fast <- c("standardGeneric", "UseMethod", "browser", "lazyLoadDBfetch", "environment<-", "Recall", "gc.time")

  # Only primitives of R, and no assignment to a watched variable.
  is_fast <- function(e, cntxt) {
    if (!is.call(e)) return(TRUE)
    head <- e[[1L]]
    if (!is.symbol(head)) return(FALSE)
    name <- as.character(head)
    ok <- if (name %in% c("<-", "=")) is_replacement_target(e[[2L]]) && global_of(e) == 0L else
      name %in% c("(", "{", "[", "[[", "$", "@", "if", "&&", "||") ||
        typeof(get0(name, baseenv(), inherits = FALSE)) == "builtin" && !startsWith(name, ".") && !name %in% not_fast
    ok && compiler$isBaseVar(name, cntxt) && all_fast(e, cntxt)
  }
  all_fast <- function(e, cntxt) {
    for (i in seq_along(e)[-1L]) if (!identical(e[[i]], quote(expr = )) && !is_fast(e[[i]], cntxt)) return(FALSE)
    TRUE
  }
  is_replacement_target <- function(left) {
    while (is.call(left)) {
      if (!is.symbol(left[[1L]]) || !as.character(left[[1L]]) %in% c("[", "[[", "$", "@")) return(FALSE)
      left <- left[[2L]]
    }
    is.symbol(left)
  }

  # The numbers of these variables; none when the loop cannot be batched.
  batchable_globals <- function(e, cntxt) {
    body <- e[[4L]]
    statements <- if (is.call(body) && identical(body[[1L]], quote(`{`))) as.list(body)[-1L] else list(body)
    globals <- global_of(e)
    for (one in statements) {
      assigned <- is.call(one) && is.symbol(one[[1L]]) && as.character(one[[1L]]) %in% c("<-", "=") && length(one) == 3L
      number <- if (assigned) global_of(one) else 0L
      globals <- c(globals, number)
      ok <- if (number > 0L) is_replacement_target(one[[2L]]) && all_fast(one, cntxt) && compiler$isBaseVar(as.character(one[[1L]]), cntxt) else is_fast(one, cntxt)
      if (!ok) return(integer())
    }
    globals <- globals[globals > 0L]
    if (anyDuplicated(globals)) integer() else globals
  }

  in_batches <- function(e, loop) {
    variant <- function(over, how) {
      e[[3L]] <- call(".Call", over, loop)
      attr(e, "remotist.loop") <- how
      e
    }
    call("if", call(".Call", batches$begin_loop, loop, e[[3L]]),
         call("while", call(".Call", batches$next_batch, loop), variant(batches$batch_elements, "counted")),
         variant(batches$all_elements, "marked"))
  }

  wrap <- function(name, how) {
    entry <- handlers[[name]]
    entry$handler <- how(entry$handler)
    assign(name, entry, envir = handlers)
  }
  wrap("<-", function(original) assignment(original, 0L))
  wrap("=", function(original) assignment(original, 0L))
  wrap("<<-", function(original) assignment(original, 1L))
  wrap("for", loop)
  NULL
})
