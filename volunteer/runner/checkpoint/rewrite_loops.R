# Loops: where they stand becomes a variable, and they look at the flag.
#
# A `for` over little or with a body that takes its time looks in each iteration. One over much with a cheap body is cut
# into strips that take about a millisecond, and looks between them: within a strip the loop is the script's own. What is
# cheap on numbers may take long on large matrices: no loop is without a look.

loop <- function(e, name) {
  once <- rewriting$once
  on.exit(rewriting$once <- once)
  rewriting$once <- FALSE
  switch(name, `for` = for_loop(e, once), `while` = while_loop(e), `repeat` = repeat_loop(e))
}

# A loop that is run `once` gets code for strips alone, however short it is: more would take longer to compile than it saves.
for_loop <- function(e, once) {
  number <- next_number()
  sequence <- hidden(number, "s")
  over <- e[[3L]]
  variable <- e[[2L]]
  body <- e[[4L]]
  cheap <- !has_site(body) && is_cheap(body)
  if (cheap && !once && !has_site(over) && is_counted(over)) return(counted_loop(e, number, variable, body, over))
  counts <- is_call_to(over, c(":", "seq_len", "seq_along")) && is_own(as.character(over[[1L]]))
  before <- if (has_site(over)) {
    list(assign_to(sequence, statement(over)), assign_to(sequence, native_call("sequence", sequence, call("quote", e))))
  } else if (counts) {
    list(assign_to(sequence, plain(over)))
  } else {
    list(assign_to(sequence, native_call("sequence", plain(over), call("quote", e))))
  }
  main <- if (cheap && once) {
    # As R leaves the variable of a loop over nothing.
    nothing <- call("if", call("==", call("length", sequence), 0L), assign_to(variable, NULL))
    c(list(nothing), strips(e, number, variable, body, sequence))
  } else if (cheap) {
    in_strips(e, number, variable, body, sequence)
  } else {
    one_by_one(e, number, variable, body, sequence, counts && !may_assign(body, as.character(variable)))
  }
  mark(block(c(before, main, list(assign_to(sequence, NULL)))), e)
}

# 1:n, seq_len(n), seq_along(x): how far is known before the sequence is made, and a loop over little makes none.
few <- 512L  # and kFew in loops.cc
# Over less than this much else, strips cost more than they save.
very_few <- 32L

is_counted <- function(over) {
  if (!is_call_to(over, c(":", "seq_len", "seq_along")) || !is_own(as.character(over[[1L]])) || !is.null(names(over))) return(FALSE)
  if (is_call_to(over, ":")) length(over) == 3L && is.numeric(over[[2L]]) && !is_missing(over[[3L]]) else length(over) == 2L && !identical(over[[2L]], quote(...))
}

counted_loop <- function(e, number, variable, body, over) {
  range <- is_call_to(over, ":")
  along <- is_call_to(over, "seq_along")
  first <- if (range) over[[2L]] else 1L
  bound <- over[[if (range) 3L else 2L]]
  before <- list()
  # Asked in C++, as a call of length() takes as long as several iterations. Only R itself knows what to say of a bound that is
  # not one number.
  many <- if (along) native_call("has_many", bound) else native_call("is_many", bound, first + few)
  if (!stays(bound, variable, body)) {
    last <- hidden(number, "n")
    before <- list(assign_to(last, if (along) call("length", plain(bound)) else plain(bound)))
    many <- native_call("is_many", last, first + few)
    over <- mark(if (range) call(":", first, last) else call("seq_len", last), over)
  }
  sequence <- hidden(number, "s")
  in_strips <- block(c(list(assign_to(sequence, over)), strips(e, number, variable, body, sequence), list(assign_to(sequence, NULL))))
  each <- in_block(one_by_one(e, number, variable, body, over, !may_assign(body, as.character(variable))))
  mark(in_block(c(before, list(call("if", many, in_strips, each)))), e)
}

# Does an expression yield the same as long as the loop runs, however often it is evaluated? Not when a class of the script has
# a say in it, nor when the body changes what may be an environment: that may be known under another name, too.
stays <- function(e, variable, body) {
  names <- all.names(e, unique = TRUE)
  (is.symbol(e) || is_pure(e, facts())) && !as.character(variable) %in% names && !facts()$active && !isTRUE(facts()$overloads) &&
    !any(vapply(names, may_assign, NA, body = body)) && !changes_parts(body)
}

changes_parts <- function(body) {
  for (e in calls_to(body, assignment_names)) if (is.call(e[[2L]]) && mentions(e[[2L]], c("$", "@", "[["))) return(TRUE)
  FALSE
}
in_block <- function(statements) if (length(statements) == 1L) statements[[1L]] else block(statements)

# `sequence` is a variable or, when the loop's variable tells how far it is, an expression that yields it again.
one_by_one <- function(e, number, variable, body, sequence, derived) {
  index <- hidden(number, "i")
  body <- block(c(if (!derived) list(assign_to(index, call("+", index, 1))), list(check()), statements_of(statement(body))))
  new <- mark(call("for", variable, sequence, body), e, NULL, list(number = number, derived = derived, sequence = sequence))
  c(if (!derived) list(assign_to(index, 0)), list(new))
}

in_strips <- function(e, number, variable, body, sequence) {
  list(call("if", call("<", call("length", sequence), very_few), block(one_by_one(e, number, variable, body, sequence, FALSE)),
            block(strips(e, number, variable, body, sequence))))
}

strips <- function(e, number, variable, body, sequence) {
  done <- hidden(number, "p")
  now <- hidden(number, "c")
  broken <- hidden(number, "b")
  breaks <- has_break(body)
  body <- plain(body)
  size <- call("length", sequence)
  strip <- mark(call("for", variable, now, if (breaks) note_break(body, broken) else body), e)
  inner <- block(c(list(check(), assign_to(now, native_call("strip", sequence, done, number)), strip),
                   if (breaks) list(call("if", broken, quote(break))),
                   list(assign_to(done, call("+", done, call("length", now))))))
  all <- mark(call("while", call("<", done, size), inner), e, NULL, list(number = number))
  c(list(assign_to(done, 0)), if (breaks) list(assign_to(broken, FALSE)), list(all, assign_to(now, NULL)))
}

# A short cheap body stands four times behind one look at the flag.
unrolled <- 4L
small_size <- 40L

while_loop <- function(e) {
  number <- next_number()
  if (!has_site(e[[2L]]) && !has_site(e[[3L]]) && is_cheap(e[[2L]]) && is_cheap(e[[3L]]) && is_small(e)) {
    test <- plain(e[[2L]])
    once <- plain(e[[3L]])
    rest <- once
    for (k in seq_len(unrolled - 1L)) rest <- block(list(once, mark(call("if", test, rest, quote(break)), e)))
    return(mark(call("while", test, block(c(list(check()), statements_of(rest)))), e, NULL, list(number = number)))
  }
  body <- block(c(list(check()), statements_of(statement(e[[3L]]))))
  mark(call("while", statement(e[[2L]]), body), e, NULL, list(number = number))
}

repeat_loop <- function(e) {
  number <- next_number()
  if (!has_site(e[[2L]]) && is_cheap(e[[2L]]) && is_small(e)) {
    return(mark(call("repeat", block(c(list(check()), rep(list(plain(e[[2L]])), unrolled)))), e, NULL, list(number = number)))
  }
  mark(call("repeat", block(c(list(check()), statements_of(statement(e[[2L]]))))), e, NULL, list(number = number))
}

is_small <- function(e) length(all.names(e)) <= small_size && !mentions(e, c("function", loop_names[loop_names != head_name(e)]))

# May the body give the loop's variable another value?
may_assign <- function(body, variable) {
  for (e in calls_to(body, c(assignment_names, "for"))) if (target_name(e[[2L]]) == variable) return(TRUE)
  length(calls_to(body, assigning_names)) > 0L || variable %in% facts()$super || "*" %in% facts()$super
}
assigning_names <- c("assign", "eval", "evalq", "list2env", "delayedAssign", "rm", "makeActiveBinding", "source", "load")

has_break <- function(body) length(calls_to(body, "break", c(loop_names, "function", opaque_names))) > 0L

note_break <- function(e, broken) {
  if (!is.call(e)) return(e)
  name <- head_name(e)
  if (name == "break") return(mark(block(list(assign_to(broken, TRUE), e)), e))
  if (name %in% c(loop_names, "function", opaque_names)) return(e)
  for (i in seq_along(e)[-1L]) if (!is_missing(e[[i]]) && is.call(e[[i]])) e[[i]] <- note_break(e[[i]], broken)
  e
}
