# Static analysis of a script: which functions it has, and which of them may be in progress at a safe point.
# Needs tables.R, and calls_to() and head_names(): the engine has them in calls.R, the R package in R/calls.R. Otherwise base R
# alone.

is_missing <- function(x) identical(x, quote(expr = ))

# The arguments of a call, without those that are left empty as in x[, 1].
parts_of <- function(e) {
  parts <- as.list(e)[-1L]
  parts[!vapply(parts, is_missing, NA)]
}

is_call_to <- function(e, names) is.call(e) && is.symbol(e[[1L]]) && as.character(e[[1L]]) %in% names

is_function_literal <- function(e) is_call_to(e, "function")

# The name of what a call calls: "f" for f(x) and pkg::f(x), "" for anything else.
head_name <- function(e) {
  head <- e[[1L]]
  if (is.symbol(head)) return(as.character(head))
  if (is_call_to(head, c("::", ":::")) && length(head) == 3L) return(as.character(head[[3L]]))
  ""
}

# Calls `visit(call)` for each call in `e`, outermost first; where it yields FALSE the arguments are left out.
each_call <- function(e, visit) {
  if (is.pairlist(e) || is.expression(e)) {
    for (i in seq_along(e)) if (!is_missing(e[[i]])) each_call(e[[i]], visit)
    return(invisible())
  }
  if (!is.call(e)) return(invisible())
  if (isFALSE(visit(e))) return(invisible())
  for (i in seq_along(e)) {
    if (!is_missing(e[[i]]) && (is.call(e[[i]]) || is.pairlist(e[[i]]))) each_call(e[[i]], visit)
  }
  invisible()
}

mentions <- function(e, names) any(all.names(e, unique = TRUE) %in% names)

target_name <- function(left) {
  while (is.call(left) && length(left) > 1L) left <- left[[2L]]
  if (is.symbol(left) || is.character(left)) as.character(left)[[1L]] else ""
}

# Names that a body calls, without those in nested functions. "*" stands for a call that is known only at run time.
called_names <- function(body) {
  calls <- calls_to(body, skipped = c(opaque_names, "function"))
  names <- head_names(calls)
  more <- character()
  for (i in which(names %in% c("UseMethod", "standardGeneric"))) {
    e <- calls[[i]]
    if (length(e) > 1L && is.character(e[[2L]])) more <- c(more, paste0("*", e[[2L]]))
  }
  for (i in which(!nzchar(names))) {
    head <- calls[[i]][[1L]]
    named <- is_call_to(head, c("$", "@")) && (is.symbol(head[[3L]]) || is.character(head[[3L]]))
    names[[i]] <- if (named) as.character(head[[3L]]) else "*"
  }
  unique(c(names, more))
}

# All function literals by the names under which they may be called.
literals_by_name <- function(calls, heads) {
  defined <- list()
  add <- function(name, literal) if (nzchar(name)) defined[[name]] <<- c(defined[[name]], list(literal))
  defining <- heads %in% c(assignment_names, "setMethod", "setGeneric", "assign", "setRefClass", "setReplaceMethod")
  named <- vapply(calls, function(e) !is.null(names(e)), NA)
  for (i in which(defining | named)) {
    e <- calls[[i]]
    name <- heads[[i]]
    if (name %in% assignment_names && length(e) == 3L && is_function_literal(e[[3L]])) {
      left <- e[[2L]]
      if (is_call_to(left, c("$", "@", "[[")) && length(left) == 3L && (is.symbol(left[[3L]]) || is.character(left[[3L]]))) {
        add(as.character(left[[3L]]), e[[3L]])
      }
      add(target_name(left), e[[3L]])
    } else if (defining[[i]] && length(e) > 2L && is.character(e[[2L]])) {
      for (part in parts_of(e)) if (is_function_literal(part)) add(e[[2L]], part)
    }
    if (named[[i]]) {
      names <- names(e)
      for (j in which(nzchar(names))) if (is_function_literal(e[[j]])) add(names[[j]], e[[j]])
    }
  }
  defined
}

# The facts about a script:
#   functions     name -> function literals
#   suspendable   names of functions that may be in progress at a safe point
#   recursive     names of functions that may reach themselves
#   redefined     names that are both assigned and called: they may not be what R has under that name
#   super         names that some function assigns in an environment around it; "*" when that cannot be known
#   overloads     whether some class has operators of its own, which may do anything
#   subscripts_lazy   whether some class may evaluate its subscripts lazily
#   active        whether a name may be a function that is called when it is looked up
analyse <- function(exprs) {
  all <- calls_to(exprs, skipped = opaque_names)
  heads <- head_names(all)
  functions <- literals_by_name(all, heads)
  assigned <- character()
  super <- character()
  formals_called <- character()
  telling <- c(assignment_names, "for", "function", "assign", "list2env", "eval", "evalq", "source", "sys.source", "attach", "load")
  for (i in which(heads %in% telling)) {
    e <- all[[i]]
    name <- heads[[i]]
    if (name %in% assignment_names) {
      target <- target_name(e[[2L]])
      if (!is.call(e[[2L]])) assigned <- c(assigned, target)
      if (name == "<<-") super <- c(super, target)
    } else if (name == "for") {
      assigned <- c(assigned, as.character(e[[2L]]))
    } else if (name == "function") {
      formal <- names(e[[2L]])
      if (length(formal)) formals_called <- c(formals_called, intersect(formal, called_names(e[[3L]])))
      assigned <- c(assigned, formal)
    } else if (name == "assign" && length(e) > 2L && is.character(e[[2L]])) {
      super <- c(super, e[[2L]])
      assigned <- c(assigned, e[[2L]])
    } else {
      super <- c(super, "*")
    }
  }
  names <- names(functions)
  calls <- lapply(functions, function(literals) {
    direct <- unique(unlist(lapply(literals, function(f) called_names(f[[3L]]))))
    generic <- substring(direct[startsWith(direct, "*") & direct != "*"], 2L)
    c(direct, unlist(lapply(generic, function(g) names[startsWith(names, paste0(g, "."))])),
      if ("NextMethod" %in% direct) unlist(lapply(names, function(n) if (grepl(".", n, fixed = TRUE)) n)))
  })
  long <- c(loop_names, apply_names, "*", "local", "do.call", "Recall", "NextMethod", "callSuper", "callNextMethod")
  suspendable <- union(names[vapply(calls, function(to) any(to %in% long), NA)], formals_called)
  reach <- calls
  repeat {
    further <- lapply(reach, function(to) unique(c(to, unlist(reach[intersect(to, names)]))))
    if (identical(lengths(further), lengths(reach))) break
    reach <- further
  }
  recursive <- names[vapply(names, function(n) n %in% reach[[n]] || "Recall" %in% calls[[n]], NA)]
  suspendable <- union(suspendable, recursive)
  repeat {
    more <- union(suspendable, names[vapply(calls, function(to) any(to %in% suspendable), NA)])
    if (length(more) == length(suspendable)) break
    suspendable <- more
  }
  list(functions = functions, suspendable = suspendable, recursive = recursive,
       redefined = unique(c(intersect(assigned, heads), names, formals_called)), super = unique(super),
       overloads = any(sub("[.].*", "", names) %in% c(strict_names, group_names, "[", "[[", "$", "@")),
       active = mentions(exprs, c("makeActiveBinding", "setRefClass", "R6Class")),
       subscripts_lazy = any(startsWith(as.character(names), "[")) || mentions(exprs, c("data.table", "setDT", "tibble", "fread")))
}

# Why this function (or top-level expression) cannot be rewritten; "" when it can.
why_not_rewritable <- function(body) {
  used <- all.names(body, unique = TRUE)
  # Most use none of these names.
  if (!any(used %in% c(unrewritable_names, frame_names, "ls", "objects", "as.list", "mget"))) return("")
  hit <- intersect(used[startsWith(used, "sys.")], unrewritable_names)
  each_call(body, function(e) {
    if (is_call_to(e, unrewritable_names)) hit <<- c(hit, as.character(e[[1L]]))
    TRUE
  })
  if (length(hit)) return(paste0("uses ", hit[[1L]], "()"))
  if (names_all(body)) return("lists hidden names (all.names = TRUE)")
  lists <- FALSE
  each_call(body, function(e) {
    if (is_call_to(e, listing_names)) {
      for (part in parts_of(e)) {
        if (is_call_to(part, frame_names) && length(part) == 1L || identical(part, quote(.GlobalEnv))) lists <<- TRUE
      }
    }
    TRUE
  })
  if (lists) "lists the variables of a frame" else ""
}

names_all <- function(body) {
  found <- FALSE
  each_call(body, function(e) {
    if ("all.names" %in% names(e) && !isFALSE(e[["all.names"]])) found <<- TRUE
    if (is_call_to(e, c("ls", "objects")) && "all" %in% names(e)) found <<- TRUE
    TRUE
  })
  found
}

# Whether `e` has no side effect and can be evaluated at any time: symbols of the frame, constants and arithmetic on them.
is_pure <- function(e, facts) {
  if (is_missing(e)) return(TRUE)
  # An argument may still be a promise, with side effects when it is forced.
  if (is.symbol(e)) return(!as.character(e) %in% c("...", facts$super, facts$formals) && !"*" %in% facts$super)
  if (!is.call(e)) return(TRUE)
  if (is_function_literal(e)) return(TRUE)
  if (isTRUE(facts$overloads)) return(FALSE)
  name <- head_name(e)
  if (!name %in% c(strict_names, "(", "[", "[[", "$", "&&", "||") || name %in% facts$redefined || !is.symbol(e[[1L]])) return(FALSE)
  for (part in parts_of(e)) if (!is_pure(part, facts)) return(FALSE)
  TRUE
}

# The formals that a function certainly forces before any visible side effect, in that order.
strict_formals <- function(literal, facts) {
  formals <- names(literal[[2L]])
  forced <- character()
  # TRUE: it is evaluated completely, without visible side effects.
  scan <- function(e) {
    if (is_missing(e) || !is.call(e) && !is.symbol(e)) return(TRUE)
    if (is.symbol(e)) {
      name <- as.character(e)
      if (name == "...") return(FALSE)
      if (name %in% formals) forced <<- union(forced, name)
      return(TRUE)
    }
    name <- head_name(e)
    if (name == "function") return(TRUE)
    if (name %in% c("{", "(")) {
      for (part in parts_of(e)) if (!scan(part)) return(FALSE)
      return(TRUE)
    }
    if (name %in% c("<-", "=") && is.symbol(e[[2L]])) {
      if (!scan(e[[3L]])) return(FALSE)
      # From here on the name is a local variable.
      return(!as.character(e[[2L]]) %in% setdiff(formals, forced))
    }
    if (name %in% c("if", "&&", "||", "for", "while", "switch", "return")) {
      first <- if (name == "for") e[[3L]] else e[[2L]]
      scan(first)
      return(FALSE)
    }
    if (name %in% facts$redefined || !is.symbol(e[[1L]])) return(FALSE)
    if (name %in% c(strict_names, "[", "[[")) {
      for (part in parts_of(e)) if (!scan(part)) return(FALSE)
      return(TRUE)
    }
    if (name %in% eager_names && length(e) > 1L) scan(e[[2L]])
    FALSE
  }
  if (mentions(literal[[3L]], caller_names)) return(character())
  scan(literal[[3L]])
  forced
}

# The expression with its function literals replaced by NULL.
without_functions <- function(e) {
  if (!is.call(e)) return(e)
  if (is_function_literal(e)) return(NULL)
  for (i in seq_along(e)) if (!is_missing(e[[i]]) && is.call(e[[i]])) e[i] <- list(without_functions(e[[i]]))
  e
}
