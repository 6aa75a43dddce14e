# Has R's byte-code compiler put a mark behind each assignment to a watched name. Yields a function of two lists of native
# ones. In `marking` are `root_number`, which tells the number of the watched variable that a call assigns to, or 0, and
# `mark_of`, which has the call to be made there; `strips` are for loops that count by themselves (strips.h). Evaluated in
# the zygote, called in a job that has watched names.
#
# The compiler asks a handler for each call that it knows; the handlers of the assignments and of `for` are wrapped here.
# They let the original handler do all of its work: the expressions that compiled code carries are the script's own.

compiler::cmpfun(function(marking, strips) {
  compiler <- asNamespace("compiler")
  handlers <- compiler$inlineHandlers
  op <- function(name) get(paste0(name, ".OP"), compiler)
  call_special <- op("CALLSPECIAL")
  pop <- op("POP")
  invisible_op <- op("INVISIBLE")
  return_op <- op("RETURN")
  start_for <- op("STARTFOR")

  # The cheapest instruction that leads to a function of R's table: two in all, some nanoseconds.
  put_mark <- function(cb, number, super) {
    cb$putcode(call_special, cb$putconst(.Call(marking$mark_of, number, super)))
    cb$putcode(pop)
  }

  root_of <- function(e) .Call(marking$root_number, e)

  # `<-` in a function assigns to a variable of the function.
  at_top <- function(cntxt) cntxt$env$ftypes[[1L]] == "global"

  assignment <- function(plain, super) {
    force(plain)
    force(super)
    function(e, cb, cntxt) {
      number <- if (super || at_top(cntxt) && !isTRUE(cntxt$counted)) root_of(e) else 0L
      if (number == 0L) return(plain(e, cb, cntxt))
      inner <- cntxt
      inner$tailcall <- FALSE
      if (!plain(e, cb, inner)) return(FALSE)
      put_mark(cb, number, super)
      if (cntxt$tailcall) {
        cb$putcode(invisible_op)
        cb$putcode(return_op)
      }
      TRUE
    }
  }

  # The variable has its next value where the body begins: at the first label behind the start of the loop that the
  # start itself does not lead to.
  loop <- function(plain) {
    force(plain)
    function(e, cb, cntxt) {
      if (!at_top(cntxt)) return(plain(e, cb, cntxt))
      how <- attr(e, "remotist.loop")
      if (identical(how, "counted")) {
        cntxt$counted <- TRUE
        return(plain(e, cb, cntxt))
      }
      if (is.null(how) && !isTRUE(cntxt$counted)) {
        roots <- tryCatch(steady_roots(e, cntxt), error = function(e) integer())
        loop <- if (length(roots) > 0L) .Call(strips$new_loop, roots, e)
        if (!is.null(loop)) {
          compiler$cmp(in_strips(e, loop), cb, cntxt)
          return(TRUE)
        }
      }
      number <- root_of(e)
      if (number == 0L) return(plain(e, cb, cntxt))
      leads_to <- NULL
      done <- FALSE
      inner <- cb
      inner$putcode <- function(...) {
        if (!done && is.null(leads_to) && identical(..1, start_for)) leads_to <<- ..4
        cb$putcode(...)
      }
      inner$putlabel <- function(name) {
        cb$putlabel(name)
        if (!done && !is.null(leads_to) && !identical(name, leads_to)) {
          done <<- TRUE
          put_mark(cb, number, 0L)
        }
      }
      plain(e, inner, cntxt)
    }
  }

  # --- loops that change the same variables once in each iteration, and do nothing that could take long

  not_quick <- c("standardGeneric", "UseMethod", "browser", "lazyLoadDBfetch", "environment<-", "Recall", "gc.time")

  # Primitives of R, and nothing in them that is watched.
  is_quick <- function(e, cntxt) {
    if (!is.call(e)) return(TRUE)
    head <- e[[1L]]
    if (!is.symbol(head)) return(FALSE)
    name <- as.character(head)
    fine <- if (name %in% c("<-", "=")) is_place(e[[2L]]) && root_of(e) == 0L else
      name %in% c("(", "{", "[", "[[", "$", "@", "if", "&&", "||") ||
        typeof(get0(name, baseenv(), inherits = FALSE)) == "builtin" && !startsWith(name, ".") && !name %in% not_quick
    fine && compiler$isBaseVar(name, cntxt) && all_quick(e, cntxt)
  }
  all_quick <- function(e, cntxt) {
    for (i in seq_along(e)[-1L]) if (!identical(e[[i]], quote(expr = )) && !is_quick(e[[i]], cntxt)) return(FALSE)
    TRUE
  }
  is_place <- function(left) {
    while (is.call(left)) {
      if (!is.symbol(left[[1L]]) || !as.character(left[[1L]]) %in% c("[", "[[", "$", "@")) return(FALSE)
      left <- left[[2L]]
    }
    is.symbol(left)
  }

  # The numbers of these variables; none when the loop is not of that kind.
  steady_roots <- function(e, cntxt) {
    body <- e[[4L]]
    statements <- if (is.call(body) && identical(body[[1L]], quote(`{`))) as.list(body)[-1L] else list(body)
    roots <- root_of(e)
    for (one in statements) {
      assigned <- is.call(one) && is.symbol(one[[1L]]) && as.character(one[[1L]]) %in% c("<-", "=") && length(one) == 3L
      number <- if (assigned) root_of(one) else 0L
      roots <- c(roots, number)
      fine <- if (number > 0L) is_place(one[[2L]]) && all_quick(one, cntxt) && compiler$isBaseVar(as.character(one[[1L]]), cntxt) else is_quick(one, cntxt)
      if (!fine) return(integer())
    }
    roots <- roots[roots > 0L]
    if (anyDuplicated(roots)) integer() else roots
  }

  in_strips <- function(e, loop) {
    variant <- function(over, how) {
      e[[3L]] <- call(".Call", over, loop)
      attr(e, "remotist.loop") <- how
      e
    }
    call("if", call(".Call", strips$begin, loop, e[[3L]]),
         call("while", call(".Call", strips$more, loop), variant(strips$strip, "counted")),
         variant(strips$whole, "marked"))
  }

  wrap <- function(name, how) {
    entry <- handlers[[name]]
    entry$handler <- how(entry$handler)
    assign(name, entry, envir = handlers)
  }
  wrap("<-", function(plain) assignment(plain, 0L))
  wrap("=", function(plain) assignment(plain, 0L))
  wrap("<<-", function(plain) assignment(plain, 1L))
  wrap("for", loop)
  NULL
})
