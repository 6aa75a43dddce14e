# Loops: their position becomes a variable, and they test the flag.
# A `for` over few elements, or with an expensive body, tests the flag in each iteration. One over many elements with a cheap
# body runs in batches of about a millisecond and tests the flag between them; within a batch the loop is the script's own.
# No loop is without safe points, because primitives may be slow on large matrices.

loop <- function(e, name) {
  once <- rewriting$once
  on.exit(rewriting$once <- once)
  rewriting$once <- FALSE
  switch(name, `for` = for_loop(e, once), `while` = while_loop(e), `repeat` = repeat_loop(e))
}

# A loop that is run `once` gets only the code for batches, however short it is: compiling both takes longer than it saves.
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
    # R sets the variable of a loop over nothing to NULL.
    nothing <- call("if", call("==", call("length", sequence), 0L), assign_to(variable, NULL))
    c(list(nothing), batched_loop(e, number, variable, body, sequence))
  } else if (cheap) {
    batched_if_long(e, number, variable, body, sequence)
  } else {
    one_by_one(e, number, variable, body, sequence, counts && !may_assign(body, as.character(variable)))
  }
  mark(block(c(before, main, list(assign_to(sequence, NULL)))), e)
}

# 1:n, seq_len(n), seq_along(x): the length is known before the sequence is made, and a short loop makes none.
few <- 512L  # and kFew in loops.cc
# Over fewer elements of any other sequence, batches cost more than they save.
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
  # In C++, because a call of length() takes as long as several iterations. A bound that is not one number is left to R, which
  # has the error for it.
  many <- if (along) native_call("has_many", bound) else native_call("is_many", bound, first + few)
  if (!stays(bound, variable, body)) {
    last <- hidden(number, "n")
    before <- list(assign_to(last, if (along) call("length", plain(bound)) else plain(bound)))
    many <- native_call("is_many", last, first + few)
    over <- mark(if (range) call(":", first, last) else call("seq_len", last), over)
  }
  sequence <- hidden(number, "s")
  in_batches <- block(c(list(assign_to(sequence, over)), batched_loop(e, number, variable, body, sequence), list(assign_to(sequence, NULL))))
  each <- in_block(one_by_one(e, number, variable, body, over, !may_assign(body, as.character(variable))))
  mark(in_block(c(before, list(call("if", many, in_batches, each)))), e)
}

# Whether an expression yields the same value as long as the loop runs. Not if a class of the script may define its operators,
# nor if the body changes elements: of an environment, that would also be visible under other names.
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

# `sequence` is a variable or, if the position is `derived` from the loop's variable, an expression that yields it again.
one_by_one <- function(e, number, variable, body, sequence, derived) {
  index <- hidden(number, "i")
  body <- block(c(if (!derived) list(assign_to(index, call("+", index, 1))), list(check()), statements_of(statement(body))))
  new <- mark(call("for", variable, sequence, body), e, loop = list(number = number, derived = derived, sequence = sequence))
  c(if (!derived) list(assign_to(index, 0)), list(new))
}

batched_if_long <- function(e, number, variable, body, sequence) {
  list(call("if", call("<", call("length", sequence), very_few), block(one_by_one(e, number, variable, body, sequence, FALSE)),
            block(batched_loop(e, number, variable, body, sequence))))
}

batched_loop <- function(e, number, variable, body, sequence) {
  done <- hidden(number, "p")
  now <- hidden(number, "c")
  broken <- hidden(number, "b")
  breaks <- has_break(body)
  body <- plain(body)
  size <- call("length", sequence)
  batch <- mark(call("for", variable, now, if (breaks) record_break(body, broken) else body), e)
  inner <- block(c(list(check(), assign_to(now, native_call("next_batch", sequence, done, number)), batch),
                   if (breaks) list(call("if", broken, quote(break))),
                   list(assign_to(done, call("+", done, call("length", now))))))
  all <- mark(call("while", call("<", done, size), inner), e, loop = list(number = number))
  c(list(assign_to(done, 0)), if (breaks) list(assign_to(broken, FALSE)), list(all, assign_to(now, NULL)))
}

# A short cheap body is unrolled four times after one test of the flag.
unrolled <- 4L
small_size <- 40L

while_loop <- function(e) {
  number <- next_number()
  if (!has_site(e[[2L]]) && !has_site(e[[3L]]) && is_cheap(e[[2L]]) && is_cheap(e[[3L]]) && is_small(e)) {
    test <- plain(e[[2L]])
    once <- plain(e[[3L]])
    rest <- once
    for (k in seq_len(unrolled - 1L)) rest <- block(list(once, mark(call("if", test, rest, quote(break)), e)))
    return(mark(call("while", test, block(c(list(check()), statements_of(rest)))), e, loop = list(number = number)))
  }
  body <- block(c(list(check()), statements_of(statement(e[[3L]]))))
  mark(call("while", statement(e[[2L]]), body), e, loop = list(number = number))
}

repeat_loop <- function(e) {
  number <- next_number()
  if (!has_site(e[[2L]]) && is_cheap(e[[2L]]) && is_small(e)) {
    return(mark(call("repeat", block(c(list(check()), rep(list(plain(e[[2L]])), unrolled)))), e, loop = list(number = number)))
  }
  mark(call("repeat", block(c(list(check()), statements_of(statement(e[[2L]]))))), e, loop = list(number = number))
}

is_small <- function(e) length(all.names(e)) <= small_size && !mentions(e, c("function", loop_names[loop_names != head_name(e)]))

# Whether the body may assign to the loop's variable.
may_assign <- function(body, variable) {
  for (e in calls_to(body, c(assignment_names, "for"))) if (target_name(e[[2L]]) == variable) return(TRUE)
  length(calls_to(body, assigning_names)) > 0L || variable %in% facts()$super || "*" %in% facts()$super
}
assigning_names <- c("assign", "eval", "evalq", "list2env", "delayedAssign", "rm", "makeActiveBinding", "source", "load")

has_break <- function(body) length(calls_to(body, "break", c(loop_names, "function", opaque_names))) > 0L

record_break <- function(e, broken) {
  if (!is.call(e)) return(e)
  name <- head_name(e)
  if (name == "break") return(mark(block(list(assign_to(broken, TRUE), e)), e))
  if (name %in% c(loop_names, "function", opaque_names)) return(e)
  for (i in seq_along(e)[-1L]) if (!is_missing(e[[i]]) && is.call(e[[i]])) e[[i]] <- record_break(e[[i]], broken)
  e
}
