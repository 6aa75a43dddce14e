# Rewrites a script's expressions so that all execution state is in R variables, because the interpreter's own state cannot be
# saved: sequences and counters of loops become variables, calls that may contain a safe point become statements, and loops
# test the flag.
#
# statement(e)  rewrites e in a position that can be resumed: a statement, or the whole right side of an assignment
# plain(e)      rewrites e in any other position: only function literals in it are rewritten
#
# A node that was changed carries the attribute "remotist", a list of
#   number     of a site or safe point; NULL for other nodes
#   original   the script's expression
#   body, info of a function: its rewritten body, and what with_body() keeps about it
#   loop       of a loop: what rest_of_loop() needs
#   held_site  of an operator: the site during which R's stack holds the first operand

rewriting <- new.env(parent = emptyenv())
rewriting$number <- 0L
rewriting$facts <- list()
# Whether the expression is evaluated once: it is in no function and no loop.
rewriting$once <- FALSE

base_names <- ls(baseenv(), all.names = TRUE)

next_number <- function() rewriting$number <- rewriting$number + 1L

hidden <- function(number, what) as.name(paste0(".cp.", number, what))
block <- function(statements) as.call(c(list(as.name("{")), statements))
assign_to <- function(name, value) call("<-", name, value)
native_call <- function(name, ...) as.call(list(as.name(".Call"), native[[name]], ...))

mark <- function(new, old, number = NULL, ...) {
  if (is.call(new)) attr(new, "remotist") <- list(number = number, original = old, ...)
  new
}
number_of <- function(e) if (is.call(e)) attr(e, "remotist")$number
# The node with a number, which is added if it has none.
numbered <- function(e, old) {
  if (!is.call(e) || !is.null(number_of(e))) return(e)
  if (is.null(attr(e, "remotist"))) return(mark(e, old, next_number()))
  attr(e, "remotist")["number"] <- list(next_number())
  e
}

# A safe point. The flag is a constant of the code, so that a function needs no variable for it.
check <- function() {
  number <- next_number()
  look <- native_call("safe_point", number)
  call("if", the_flag, mark(look, look, number))
}

facts <- function() rewriting$facts
is_own <- function(name) !name %in% facts()$redefined

# --- calls that may reach a safe point

is_site <- function(e) {
  head <- e[[1L]]
  name <- head_name(e)
  if (nzchar(name)) {
    if (name %in% facts()$suspendable) return(TRUE)
    if (name %in% c(apply_names, "Recall", "local", "checkpoint") && is_own(name)) return(TRUE)
    if (name == "do.call" && length(e) > 1L) {
      what <- e[[2L]]
      return(is_function_literal(what) || (is.symbol(what) || is.character(what)) && as.character(what) %in% facts()$suspendable)
    }
    return(FALSE)
  }
  if (is_call_to(head, c("$", "@"))) return(as.character(head[[3L]])[[1L]] %in% facts()$suspendable)
  is.call(head)
}

has_site <- function(e) {
  for (part in calls_to(e, site_names(), not_entered)) {
    if (is_call_to(part, loop_names)) {
      if (!is_tiny_loop(part)) return(TRUE)
    } else if (is_site(part)) {
      return(TRUE)
    }
  }
  FALSE
}
not_entered <- c(opaque_names, "function")

# The names that a site may have; "" is that of a call whose function is not a name.
site_names <- function() {
  if (is.null(rewriting$facts$site_names)) {
    rewriting$facts$site_names <- unique(c(facts()$suspendable, apply_names, loop_names, "Recall", "local", "checkpoint", "do.call", ""))
  }
  rewriting$facts$site_names
}

# Whether `e` calls only primitives, so that one evaluation usually takes little time.
is_cheap <- function(e) {
  if (is.null(rewriting$facts$cheap_names)) {
    known <- c(strict_names, "{", "(", "if", "[", "[[", "$", "@", "<-", "=", "<<-", "&&", "||", "next", "break", "for", "while",
               "repeat", "switch", "[<-", "[[<-", "runif", "rnorm", "rexp", "return", "!")
    rewriting$facts$cheap_names <- setdiff(known, facts()$redefined)
  }
  .Call(native$only_calls, e, rewriting$facts$cheap_names)
}

# A loop with at most 64 cheap iterations, by its text.
is_tiny_loop <- function(e) {
  if (!is_call_to(e, "for")) return(FALSE)
  over <- e[[3L]]
  few <- is_call_to(over, ":") && length(over) == 3L && is.numeric(over[[2L]]) && is.numeric(over[[3L]]) &&
    abs(over[[3L]] - over[[2L]]) < 64 || is_call_to(over, "seq_len") && is.numeric(over[[2L]]) && over[[2L]] <= 64
  few && is_cheap(e[[4L]]) && !mentions(e[[4L]], loop_names)
}

# --- positions that cannot be resumed

plain <- function(e) {
  if (!is.call(e) || !.Call(native$has_symbol, e, quote(`function`))) return(e)
  name <- head_name(e)
  if (name %in% opaque_names) return(e)
  if (name == "function" && is.symbol(e[[1L]])) return(literal(e))
  for (i in seq_along(e)) if (!is_missing(e[[i]]) && is.call(e[[i]])) e[[i]] <- plain(e[[i]])
  e
}

# --- functions

literal <- function(e) {
  body <- e[[3L]]
  if (nzchar(why_not_rewritable(body))) return(e)
  outer <- rewriting$facts$formals
  once <- rewriting$once
  on.exit({
    rewriting$facts$formals <- outer
    rewriting$once <- once
  })
  # The default of an argument may assign a variable whenever it is evaluated.
  assigned <- vapply(calls_to(e[[2L]], assignment_names), function(part) target_name(part[[2L]]), "")
  rewriting$facts$formals <- c(outer, names(e[[2L]]), assigned)
  rewriting$once <- FALSE
  entry <- any(called_names(body) %in% c(facts()$recursive, "Recall"))
  if (!entry && !has_site(body)) {
    inner <- plain(body)
    if (identical(inner, body)) return(e)
    return(with_body(e, inner))
  }
  new <- statement(body)
  if (entry) new <- block(c(list(check()), statements_of(new)))
  with_body(e, new)
}

with_body <- function(e, body) {
  info <- new.env(hash = FALSE, parent = emptyenv())
  info$body <- body
  info$heads <- intersect(all.names(body, unique = TRUE), base_names)
  info$inspects_caller <- mentions(e[[3L]], caller_names)
  mark(e, e, body = body, info = info)
}

statements_of <- function(e) if (is_call_to(e, "{")) as.list(e)[-1L] else list(e)

# --- calls that may be in progress at a safe point

apply_call <- function(e, name) {
  if (name == "local") {
    return(as.call(list(call("(", call("function", NULL, e[[2L]])))))
  }
  if (name == "replicate") {
    part <- as.list(match.call(base::replicate, e))
    function_of <- call("function", as.pairlist(alist(... = )), part$expr)
    return(as.call(list(apply_function("sapply"), call("integer", part$n), function_of,
                        simplify = if (is.null(part$simplify)) "array" else part$simplify)))
  }
  e[[1L]] <- apply_function(name)
  e
}

apply_function <- function(name) call("$", call("$", engine, quote(apply_functions)), as.name(name))

is_apply_call <- function(e, name) {
  if (!is_own(name)) return(FALSE)
  if (name == "local") return(length(e) == 2L && is.null(names(e)) && !mentions(e, caller_names) && !nzchar(why_not_rewritable(e[[2L]])))
  if (name == "replicate") {
    part <- tryCatch(as.list(match.call(base::replicate, e)), error = function(e) NULL)
    return(!is.null(part$n) && !is.null(part$expr) && !mentions(part$expr, c("...", caller_names)) && is_pure(part$n, facts()))
  }
  name %in% apply_names && !mentions(e, c("parent.frame", "sys.function", "sys.call", "match.call"))
}

call_site <- function(e) {
  old <- e
  name <- head_name(e)
  if (name == "checkpoint" && length(e) == 1L && is_own(name)) {
    return(mark(block(list(native_call("set_flag", TRUE), check(), quote(invisible(NULL)))), old))
  }
  if (name == ".cp.site") return(calls_at(plain(e[[2L]])))
  before <- list()
  if (length(e) > 1L) {
    moved <- move_arguments(e, name)
    before <- moved$before
    e <- moved$e
  }
  if (nzchar(name) && is_apply_call(e, name)) e <- apply_call(e, name)
  e <- mark(plain(e), old, next_number())
  if (length(before)) mark(block(c(before, list(e))), old) else e
}

# Moves arguments that contain a site before the call, if the function certainly evaluates them first and the order of
# evaluation has no visible effect.
move_arguments <- function(e, name) {
  at <- seq_along(e)[-1L]
  with_site <- at[vapply(at, function(i) !is_missing(e[[i]]) && has_site(e[[i]]), NA)]
  nothing <- list(before = list(), e = e)
  if (!length(with_site)) return(nothing)
  others <- setdiff(at, with_site)
  if (!all(vapply(others, function(i) is_missing(e[[i]]) || is_unchanged_by(e[[i]], e), NA))) return(nothing)
  literals <- facts()$functions[[name]]
  if (length(literals) == 1L && nzchar(name)) {
    formals <- names(literals[[1L]][[2L]])
    if ("..." %in% formals) return(nothing)
    numbered <- as.call(c(list(e[[1L]]), lapply(at, function(i) i)))
    names(numbered) <- names(e)
    template <- function() NULL
    formals(template) <- literals[[1L]][[2L]]
    matched <- tryCatch(as.list(match.call(template, numbered))[-1L], error = function(e) NULL)
    order <- unlist(matched[intersect(strict_formals(literals[[1L]], facts()), names(matched))])
    order <- order[order %in% with_site]
    if (!identical(sort(as.integer(order)), as.integer(with_site))) return(nothing)
  } else if (name %in% c(eager_names, apply_names) && is_own(name) && length(with_site) == 1L && with_site == 2L) {
    order <- with_site
  } else {
    return(nothing)
  }
  before <- list()
  for (i in order) {
    moved <- value(e[[i]])
    before <- c(before, moved$before)
    e[i] <- list(moved$e)
  }
  list(before = before, e = e)
}

# Rewrites `e` in a position that needs its value: list(before = statements, e = expression). The expression contains no site,
# except with `in_place`: then it may be a site itself, if everything evaluated before it can be evaluated again.
value <- function(e, in_place = FALSE) {
  if (!is.call(e) || !has_site(e)) return(list(before = list(), e = plain(e)))
  name <- head_name(e)
  into <- function() {
    temporary <- hidden(next_number(), "v")
    list(before = list(assign_to(temporary, statement(e))), e = temporary)
  }
  if (name %in% c("{", "if", "switch", loop_names, assignment_names)) return(into())
  if (name %in% wrapper_names && name != "return") return(into())
  if (is_site(e)) return(if (in_place && name != "checkpoint") split_last(call_site(e)) else into())
  if (name %in% c("&&", "||")) return(if (has_site(e[[3L]])) into() else first_only(e, in_place))
  if (!is_own(name)) return(list(before = list(), e = plain(e)))
  if (name %in% c("$", "@") || name %in% c("[", "[[") && (facts()$subscripts_lazy || length(e) != 3L || has_site(e[[3L]]) && is_lazy_subscript(e))) {
    return(first_only(e, in_place))
  }
  # A method may evaluate the subscripts of an object.
  if (name %in% c(strict_names, "[", "[[")) return(in_order(e, in_place && name %in% strict_names))
  if (name %in% eager_names) {
    moved <- move_arguments(e, name)
    if (length(moved$before)) return(list(before = moved$before, e = mark(plain(moved$e), e)))
    if (name %in% c("paste", "paste0", "cat") && is.null(names(e))) return(in_order(e, in_place = FALSE))
  }
  list(before = list(), e = plain(e))
}

is_lazy_subscript <- function(e) facts()$subscripts_lazy || is_missing(e[[3L]])

# Splits a block into the statements before its last call, and that call.
split_last <- function(e) {
  if (!is_call_to(e, "{")) return(list(before = list(), e = e))
  parts <- statements_of(e)
  list(before = parts[-length(parts)], e = parts[[length(parts)]])
}

first_only <- function(e, in_place) {
  first <- value(e[[2L]], in_place)
  new <- e
  new[2L] <- list(first$e)
  for (i in seq_along(new)[-(1:2)]) if (!is_missing(new[[i]])) new[i] <- list(plain(new[[i]]))
  list(before = first$before, e = mark(new, e))
}

# Evaluates the arguments up to the last one with a site before the call, in their order; that one may stay in place.
in_order <- function(e, in_place) {
  at <- seq_along(e)[-1L]
  present <- at[!vapply(at, function(i) is_missing(e[[i]]), NA)]
  if (any(vapply(present, function(i) identical(e[[i]], quote(...)), NA))) return(list(before = list(), e = plain(e)))
  if (in_place && can_keep_on_stack(e)) {
    kept <- keep_on_stack(e)
    if (!is.null(kept)) return(kept)
  }
  last <- max(present[vapply(present, function(i) has_site(e[[i]]), NA)])
  before <- list()
  new <- e
  for (i in present) {
    if (i > last) {
      new[i] <- list(plain(e[[i]]))
      next
    }
    part <- value(e[[i]], in_place && i == last)
    before <- c(before, part$before)
    if (i < last && !is_unchanged_by(part$e, e) && !startsWith(as.character(part$e)[[1L]], ".cp.")) {
      temporary <- hidden(next_number(), "v")
      before <- c(before, list(assign_to(temporary, part$e)))
      part$e <- temporary
    }
    new[i] <- list(part$e)
  }
  list(before = before, e = mark(new, e))
}

# Operators whose code keeps the first operand on R's stack while the second is evaluated.
stack_operator_names <- c("+", "-", "*", "/", "^", "==", "!=", "<", "<=", ">", ">=", "&", "|")

can_keep_on_stack <- function(e) {
  engine_state$can_read_stack && length(e) == 3L && is_call_to(e, stack_operator_names) && is_call_to(e[[3L]], facts()$suspendable) &&
    !is_unchanged_by(e[[2L]], e)
}

# Whether a part of a call has the same value after other parts of the call were evaluated. These may assign to its variables or
# change an environment in a function that they call.
is_unchanged_by <- function(part, call) {
  is_pure(part, facts()) && !(is.call(part) && mentions(part, c("$", "@", "[["))) &&
    !any(vapply(all.names(part, functions = FALSE, unique = TRUE), may_assign, NA, body = call))
}

# Leaves f(x) + g(y) in place: a checkpoint in g() reads the value of f(x) from the stack. NULL when g() cannot stay in place.
keep_on_stack <- function(e) {
  second <- value(e[[3L]], in_place = TRUE)
  if (length(second$before)) return(NULL)
  first <- value(e[[2L]], in_place = TRUE)
  new <- e
  new[2:3] <- list(first$e, second$e)
  list(before = first$before, e = mark(new, e, held_site = number_of(second$e)))
}

# --- statements

statement <- function(e) {
  if (!is.call(e)) return(e)
  name <- head_name(e)
  if (!is.symbol(e[[1L]]) && name %in% c("{", "if", loop_names, assignment_names, "function")) name <- ""
  if (name == "function") return(literal(e))
  if (name %in% opaque_names) return(e)
  if (name == "{") {
    for (i in seq_along(e)[-1L]) if (is.call(e[[i]])) e[[i]] <- statement(e[[i]])
    return(e)
  }
  if (name %in% loop_names) return(if (is_tiny_loop(e)) plain(e) else loop(e, name))
  if (name %in% assignment_names) return(assignment(e))
  if (name == "if") return(branch(e, 3L))
  if (name == "switch" && length(e) > 1L) return(branch(e, 3L))
  if (name %in% c("&&", "||") && has_site(e[[3L]])) return(rewrite_and_or(e, name))
  if (name %in% wrapper_names && is_own(name) && has_site(e)) return(wrapper(e, name))
  if (is_site(e)) return(call_site(e))
  if (has_site(e)) {
    parts <- value(e, in_place = TRUE)
    last <- numbered(parts$e, e)
    return(if (length(parts$before)) mark(block(c(parts$before, list(last))), e) else last)
  }
  new <- plain(e)
  primitive <- nzchar(name) && is.primitive(get0(name, baseenv(), mode = "function"))
  if (primitive) new else mark(new, e, next_number())
}

assignment <- function(e) {
  new <- e
  new[3L] <- list(if (is_function_literal(e[[3L]])) literal(e[[3L]]) else statement(e[[3L]]))
  if (is.call(e[[2L]])) new[2L] <- list(plain(e[[2L]]))
  new
}

# `if` and `switch`: the condition is moved before them if it contains a site.
branch <- function(e, from) {
  choice <- value(e[[2L]], in_place = TRUE)
  new <- e
  new[2L] <- list(choice$e)
  for (i in seq_along(e)) if (i >= from && !is_missing(e[[i]])) new[i] <- list(statement(e[[i]]))
  if (!length(choice$before)) return(new)
  mark(block(c(choice$before, list(mark(new, e)))), e)
}

# a && b or a || b, where b contains a site: b becomes a statement, which is skipped when a decides.
rewrite_and_or <- function(e, name) {
  number <- next_number()
  first <- hidden(number, "a")
  second <- hidden(number, "b")
  left <- value(e[[2L]])
  # Yields TRUE, FALSE or NA, or R's error for anything else.
  test <- mark(call(name, left$e, name == "&&"), e)
  decided <- if (name == "&&") call("isFALSE", first) else call("isTRUE", first)
  mark(block(c(left$before, list(assign_to(first, test),
       call("if", decided, name == "||", block(list(assign_to(second, statement(e[[3L]])), mark(call(name, first, second), e))))))), e)
}

wrapper <- function(e, name) {
  named <- names(e)
  fine <- length(e) > 1L && !is_missing(e[[2L]]) && (is.null(named) || named[[2L]] %in% c("", "expr"))
  for (i in seq_along(e)[-(1:2)]) {
    if (is_missing(e[[i]])) {
      fine <- FALSE
      break
    }
    part <- e[[i]]
    lazy <- !is.null(named) && named[[i]] == "finally"
    fine <- fine && (lazy || is_function_literal(part) || !is.call(part) && is_unchanged_by(part, e[[2L]]))
  }
  if (!fine) return(mark(plain(e), e, next_number()))
  new <- e
  new[2L] <- list(statement(e[[2L]]))
  for (i in seq_along(e)[-(1:2)]) new[i] <- list(plain(e[[i]]))
  mark(new, e)
}
