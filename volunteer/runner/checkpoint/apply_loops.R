# Resumable versions of lapply() and the other apply functions. Those that R implements in R are instrumented; the loops that
# it implements in C are written here. In all of them the call of the function has the same expression as in R.
# When R creates the call's expression anew each time, its address does not identify the site: `.cp.at` holds the number then.

calls_at <- function(call) {
  number <- next_number()
  block(list(assign_to(quote(.cp.at), number), mark(call, call, number)))
}

# forceAndCall(n, f, ...) as a site, in code that is then instrumented.
with_forced_calls <- function(e) {
  if (!is.call(e)) return(e)
  if (is_call_to(e, c("forceAndCall", ".cp.force_call"))) return(as.call(list(as.name(".cp.site"), e)))
  for (i in seq_along(e)) if (!is_missing(e[[i]]) && is.call(e[[i]])) e[[i]] <- with_forced_calls(e[[i]])
  e
}

lapply_body <- quote({
  FUN <- match.fun(FUN)
  if (!is.vector(X) || is.object(X)) X <- as.list(X)
  if (!.cp.calls(FUN) && length(X) < 8L) return(.Internal(lapply(X, FUN)))
  .cp.n <- length(X)
  .cp.out <- vector("list", .cp.n)
  if (!is.null(names(X))) names(.cp.out) <- names(X)
  if (.cp.n == 0L) return(.cp.out)
  if (.cp.calls(FUN)) {
    for (i in seq_along(X)) {
      .cp.value <- forceAndCall(1, FUN, X[[i]], ...)
      if (!is.null(.cp.value)) .cp.out[[i]] <- .cp.value
    }
  } else {
    .cp.done <- 0
    while (.cp.done < .cp.n) .cp.done <- .cp.done + .cp.each(.cp.out, .cp.done, NULL)
  }
  .cp.out
})

vapply_body <- quote({
  FUN <- match.fun(FUN)
  if (!is.vector(X) || is.object(X)) X <- as.list(X)
  if (!.cp.calls(FUN) && length(X) < 8L) return(.Internal(vapply(X, FUN, FUN.VALUE, USE.NAMES)))
  .cp.n <- length(X)
  .cp.out <- vector("list", .cp.n)
  if (.cp.calls(FUN)) {
    for (i in seq_along(X)) {
      .cp.value <- forceAndCall(1, FUN, X[[i]], ...)
      if (!.cp.fits(.cp.value, FUN.VALUE)) .cp.stop_unfit(.cp.out, i, .cp.value, FUN.VALUE, sys.call())
      if (!is.null(.cp.value)) .cp.out[[i]] <- .cp.value
    }
  } else {
    .cp.done <- 0
    while (.cp.done < .cp.n) {
      .cp.some <- .cp.each(.cp.out, .cp.done, FUN.VALUE)
      if (.cp.some < 0) .cp.stop_unfit(.cp.out, i, .cp.out[[i]], FUN.VALUE, sys.call())
      .cp.done <- .cp.done + .cp.some
    }
  }
  .cp.names <- if (USE.NAMES) if (!is.null(names(X))) names(X) else if (is.character(X)) X
  .cp.all <- .cp.collect(.cp.out, FUN.VALUE)
  if (!is.null(.cp.all) && .cp.n > 0L) {
    if (!is.null(.cp.names)) names(.cp.all) <- .cp.names
    return(.cp.all)
  }
  names(.cp.out) <- .cp.names
  .cp.vapply(.cp.out, .cp.identity, FUN.VALUE, USE.NAMES = USE.NAMES)
})

mapply_body <- quote({
  FUN <- match.fun(FUN)
  dots <- list(...)
  if (.cp.calls(FUN) && all(lengths(dots) > 0L) && length(dots) > 0L && !.cp.classed(dots)) {
    .cp.n <- max(lengths(dots))
    answer <- vector("list", .cp.n)
    .cp.call <- .cp.mapply_call(dots, MoreArgs)
    .cp.each <- lengths(dots)
    for (.cp.k in seq_len(.cp.n)) {
      .cp.index <- as.integer((.cp.k - 1L) %% .cp.each + 1L)
      .cp.value <- .cp.force_call(.cp.call)
      if (!is.null(.cp.value)) answer[[.cp.k]] <- .cp.value
    }
  } else {
    answer <- .cp.mapply(FUN, dots, MoreArgs)
  }
  if (USE.NAMES && length(dots)) {
    if (is.null(names1 <- names(dots[[1L]])) && is.character(dots[[1L]])) {
      names(answer) <- if (length(answer)) dots[[1L]] else character()
    } else if (!is.null(names1)) {
      names(answer) <- names1
    }
  }
  if (!isFALSE(SIMPLIFY)) simplify2array(answer, higher = (SIMPLIFY == "array")) else answer
})

plain_vapply <- base::vapply

# Raises R's own error for a value that does not fit, with its index.
stop_unfit <- function(out, i, value, model, call) {
  all <- c(out[seq_len(i - 1L)], list(value))
  failure <- tryCatch(base::vapply(all, function(v) v, model), error = identity)
  stop(simpleError(conditionMessage(failure), call))
}

mapply_call <- function(dots, more) {
  parts <- lapply(seq_along(dots), function(j) bquote(dots[[.(j)]][[.cp.index[[.(j)]]]]))
  names(parts) <- names(dots)
  more <- lapply(seq_along(more), function(j) if (is.language(more[[j]])) call("quote", more[[j]]) else more[[j]])
  as.call(c(list(as.name("FUN")), parts, stats::setNames(more, names(more))))
}
has_class <- function(dots) any(vapply(dots, is.object, NA))
plain_mapply <- function(FUN, dots, more) .Internal(mapply(FUN, dots, more))

# Replaces the names in the bodies above that are not R's.
expand_apply_body <- function(e, replacements) {
  if (is.symbol(e)) return(if (as.character(e) %in% names(replacements)) replacements[[as.character(e)]] else e)
  if (!is.call(e)) return(e)
  if (is_call_to(e, ".cp.force_call")) {
    return(as.call(list(as.name(".Call"), native$force_call, e[[2L]], quote(length(dots)), quote(environment()))))
  }
  if (is_call_to(e, ".cp.each")) {
    return(as.call(list(as.name(".Call"), native$call_each, e[[2L]], e[[3L]], next_number(), e[[4L]], quote(environment()))))
  }
  if (is_call_to(e, names(native_names))) {
    return(as.call(c(list(as.name(".Call"), native[[native_names[[as.character(e[[1L]])]]]]), as.list(e)[-1L])))
  }
  for (i in seq_along(e)) if (!is_missing(e[[i]]) && (is.call(e[[i]]) || is.symbol(e[[i]]))) e[[i]] <- expand_apply_body(e[[i]], replacements)
  e
}

native_names <- c(.cp.calls = "makes_calls", .cp.fits = "fits", .cp.collect = "collect")

apply_functions <- new.env(parent = emptyenv())

# `lazily`: each is made when it is first called.
make_apply_functions <- function(lazily) {
  engine_name <- function(name) call("$", engine, as.name(name))
  replacements <- list(.cp.vapply = engine_name("plain_vapply"), .cp.stop_unfit = engine_name("stop_unfit"), .cp.identity = quote(identity),
                       .cp.mapply_call = engine_name("mapply_call"), .cp.mapply = engine_name("plain_mapply"), .cp.classed = engine_name("has_class"))
  made <- function(name, body = base::body(get(name, baseenv()))) {
    f <- get(name, baseenv())
    instrument(f, expand_apply_body(with_forced_calls(body), replacements), known = ".cp.site")
  }
  for (one in list(list("lapply", lapply_body), list("vapply", vapply_body), list("mapply", mapply_body), list("sapply"),
                   list("Map"), list("Reduce"), list("Filter"), list("Position"), list("Find"), list("apply"), list("tapply"))) {
    local({
      mine <- one
      delayedAssign(mine[[1L]], do.call(made, mine, quote = TRUE), assign.env = apply_functions)
    })
    if (!lazily) force(apply_functions[[one[[1L]]]])
  }
}
