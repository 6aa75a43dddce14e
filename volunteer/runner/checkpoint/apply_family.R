# lapply and its family, so that they can be under way at a safe point. Those that R writes in R are taken from R and
# instrumented; the loops that it does in C are written here. In all of them the call of the function has the
# expression that it has in R.
#
# Which call is under way is not known by its expression when R makes that anew each time: `.cp.at` tells then.

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
      if (!.cp.fits(.cp.value, FUN.VALUE)) .cp.misfit(.cp.out, i, .cp.value, FUN.VALUE, sys.call())
      if (!is.null(.cp.value)) .cp.out[[i]] <- .cp.value
    }
  } else {
    .cp.done <- 0
    while (.cp.done < .cp.n) {
      .cp.some <- .cp.each(.cp.out, .cp.done, FUN.VALUE)
      if (.cp.some < 0) .cp.misfit(.cp.out, i, .cp.out[[i]], FUN.VALUE, sys.call())
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

# R's own words for a value that does not fit, with the place in the list.
misfit <- function(out, i, value, model, call) {
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

# The words of the bodies above that are not R's.
family_words <- function(e, words) {
  if (is.symbol(e)) return(if (as.character(e) %in% names(words)) words[[as.character(e)]] else e)
  if (!is.call(e)) return(e)
  if (is_call_to(e, ".cp.force_call")) {
    return(as.call(list(as.name(".Call"), native$force_call, e[[2L]], quote(length(dots)), quote(environment()))))
  }
  if (is_call_to(e, ".cp.each")) {
    return(as.call(list(as.name(".Call"), native$call_each, e[[2L]], e[[3L]], next_number(), e[[4L]], quote(environment()))))
  }
  if (is_call_to(e, names(native_words))) {
    return(as.call(c(list(as.name(".Call"), native[[native_words[[as.character(e[[1L]])]]]]), as.list(e)[-1L])))
  }
  for (i in seq_along(e)) if (!is_missing(e[[i]]) && (is.call(e[[i]]) || is.symbol(e[[i]]))) e[[i]] <- family_words(e[[i]], words)
  e
}

native_words <- c(.cp.calls = "makes_calls", .cp.fits = "fits", .cp.collect = "collect")

family <- new.env(parent = emptyenv())

# `lazily`: each when it is first called.
make_family <- function(lazily) {
  word <- function(name) call("$", engine, as.name(name))
  words <- list(.cp.vapply = word("plain_vapply"), .cp.misfit = word("misfit"), .cp.identity = quote(identity),
                .cp.mapply_call = word("mapply_call"), .cp.mapply = word("plain_mapply"), .cp.classed = word("has_class"))
  made <- function(name, body = base::body(get(name, baseenv()))) {
    f <- get(name, baseenv())
    instrument(f, family_words(with_forced_calls(body), words), known = ".cp.site")
  }
  for (one in list(list("lapply", lapply_body), list("vapply", vapply_body), list("mapply", mapply_body), list("sapply"),
                   list("Map"), list("Reduce"), list("Filter"), list("Position"), list("Find"), list("apply"), list("tapply"))) {
    local({
      mine <- one
      delayedAssign(mine[[1L]], do.call(made, mine, quote = TRUE), assign.env = family)
    })
    if (!lazily) force(family[[one[[1L]]]])
  }
}
