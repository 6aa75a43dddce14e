# R's compiler spends most of its time on a few questions that it asks for each name and each call. They are answered in
# C++ here (compiler.cc), for R's own compiling too. The code that it makes is the same; a test compares.

# The compiler whose questions these are.
is_known_compiler <- function() getRversion() >= "4.5.0" && getRversion() < "4.6.0"

slow <- new.env(parent = emptyenv())

quick <- list(
  findVar = function(var, cntxt) .Call(native$is_bound, var, cntxt$env),
  findLocVar = function(var, cntxt) .Call(native$is_local, var, cntxt$env),
  isBaseVar = function(var, cntxt) {
    answer <- .Call(native$is_base_name, var, cntxt$env, cntxt$optimize)
    if (is.na(answer)) slow$isBaseVar(var, cntxt) else answer
  },
  getInlineInfo = function(name, cntxt, guardOK = FALSE) {
    info <- .Call(native$inline_info, name, cntxt$env, cntxt$optimize, guardOK)
    if (is.logical(info)) slow$getInlineInfo(name, cntxt, guardOK) else info
  },
  findLocalsList1 = function(elist, shadowed, cntxt) {
    names <- .Call(native$local_names, elist, shadowed)
    if (is.null(names)) slow$findLocalsList1(elist, shadowed, cntxt) else names
  },
  addCenvVars = function(cenv, vars) {
    cenv$extra[[1L]] <- unique(c(cenv$extra[[1L]], vars))
    cenv
  },
  mayCallBrowser = function(e, cntxt) .Call(native$has_symbol, e, quote(browser)) && slow$mayCallBrowser(e, cntxt),
  constantFold = function(e, cntxt, loc = NULL) if (.Call(native$may_fold, e)) slow$constantFold(e, cntxt, loc),
  checkSkipLoopCntxt = function(e, cntxt, breakOK = TRUE) {
    answer <- .Call(native$needs_no_context, e, cntxt$env, cntxt$optimize, breakOK)
    if (is.na(answer)) slow$checkSkipLoopCntxt(e, cntxt, breakOK) else answer
  },
  # What it looks for besides is only told when it is asked to tell.
  cmpCall = function(call, cb, cntxt, inlineOK = TRUE) {
    fun <- call[[1L]]
    if (!is.symbol(fun) || !isTRUE(cntxt$suppressAll)) return(slow$cmpCall(call, cb, cntxt, inlineOK))
    place <- cb$savecurloc()
    cb$setcurexpr(call)
    cntxt$call <- call
    if (!(inlineOK && compiler$tryInline(call, cb, cntxt))) compiler$cmpCallSymFun(fun, call[-1L], call, cb, cntxt)
    cb$restorecurloc(place)
  },
  # The code of an argument that is a name alone is always the same.
  genCode = function(e, cntxt, gen = NULL, loc = NULL) {
    if (is.symbol(e) && is.null(gen) && !is.null(loc) && is.null(loc$srcref) && cntxt$tailcall && isTRUE(cntxt$suppressAll) &&
        !.Call(native$may_fold, e) && !is_odd_symbol(e) && !identical(e, loc$expr)) {
      return(.Internal(mkCode(symbol_code, list(e, loc$expr, symbol_places))))
    }
    slow$genCode(e, cntxt, gen, loc)
  }
)

# ..., ..1 and what is left out.
is_odd_symbol <- function(e) {
  name <- as.character(e)
  startsWith(name, "..") || !nzchar(name)
}
symbol_code <- as.integer(c(.Internal(bcVersion()), compiler$GETVAR.OP, 0L, compiler$RETURN.OP))
symbol_places <- structure(c(NA, 1L, 1L, 1L), class = "expressionsIndex")

install_faster_compiler <- function() {
  if (!is_known_compiler() || length(ls(slow))) return(invisible())
  .Call(native$set_language_names, compiler$languageFuns)
  for (name in names(quick)) {
    assign(name, compiler[[name]], envir = slow)
    replace_in_compiler(name, quick[[name]])
  }
}

remove_faster_compiler <- function() {
  for (name in ls(slow)) replace_in_compiler(name, slow[[name]])
  rm(list = ls(slow), envir = slow)
}

replace_in_compiler <- function(name, with) {
  unlockBinding(name, compiler)
  assign(name, with, envir = compiler)
  lockBinding(name, compiler)
}
