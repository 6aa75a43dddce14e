# Has R's byte-code compiler put a mark behind each assignment to a watched name. Yields a function of two native ones:
# `root_number` tells the number of the watched variable that a call assigns to, or 0, and `mark_of` has the call to be
# made there. Evaluated in the zygote, called in a job that has watched names.
#
# The compiler asks a handler for each call that it knows; the handlers of the assignments and of `for` are wrapped here.
# They let the original handler do all of its work: the expressions that compiled code carries are the script's own.

compiler::cmpfun(function(root_number, mark_of) {
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
    cb$putcode(call_special, cb$putconst(.Call(mark_of, number, super)))
    cb$putcode(pop)
  }

  # `<-` in a function assigns to a variable of the function.
  at_top <- function(cntxt) cntxt$env$ftypes[[1L]] == "global"

  assignment <- function(plain, super) {
    force(plain)
    force(super)
    function(e, cb, cntxt) {
      number <- if (super || at_top(cntxt)) .Call(root_number, e) else 0L
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
      number <- if (at_top(cntxt)) .Call(root_number, e) else 0L
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
