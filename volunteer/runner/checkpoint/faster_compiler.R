# R's compiler spends most of its time on a few lookups for each name and each call. Here they are replaced by C++
# (compiler.cc), for R's own just-in-time compiling too. The resulting code is the same (tests/checkpoint/compiler_test.R).

# The versions of R whose compiler has these functions.
is_known_compiler <- function() getRversion() >= "4.5.0" && getRversion() < "4.6.0"

original_compiler <- new.env(parent = emptyenv())

faster <- list(
  findVar = function(var, cntxt) .Call(native$is_bound, var, cntxt$env),
  findLocVar = function(var, cntxt) .Call(native$is_local, var, cntxt$env),
  isBaseVar = function(var, cntxt) {
    answer <- .Call(native$is_base_name, var, cntxt$env, cntxt$optimize)
    if (is.na(answer)) original_compiler$isBaseVar(var, cntxt) else answer
  },
  getInlineInfo = function(name, cntxt, guardOK = FALSE) {
    info <- .Call(native$inline_info, name, cntxt$env, cntxt$optimize, guardOK)
    if (is.logical(info)) original_compiler$getInlineInfo(name, cntxt, guardOK) else info
  },
  findLocalsList1 = function(elist, shadowed, cntxt) {
    names <- .Call(native$local_names, elist, shadowed)
    if (is.null(names)) original_compiler$findLocalsList1(elist, shadowed, cntxt) else names
  },
  addCenvVars = function(cenv, vars) {
    cenv$extra[[1L]] <- unique(c(cenv$extra[[1L]], vars))
    cenv
  },
  mayCallBrowser = function(e, cntxt) .Call(native$has_symbol, e, quote(browser)) && original_compiler$mayCallBrowser(e, cntxt),
  constantFold = function(e, cntxt, loc = NULL) if (.Call(native$may_fold, e)) original_compiler$constantFold(e, cntxt, loc),
  checkSkipLoopCntxt = function(e, cntxt, breakOK = TRUE) {
    answer <- .Call(native$needs_no_context, e, cntxt$env, cntxt$optimize, breakOK)
    if (is.na(answer)) original_compiler$checkSkipLoopCntxt(e, cntxt, breakOK) else answer
  },
  # Everything else that the original checks only produces notes, which are suppressed.
  cmpCall = function(call, cb, cntxt, inlineOK = TRUE) {
    fun <- call[[1L]]
    if (!is.symbol(fun) || !isTRUE(cntxt$suppressAll)) return(original_compiler$cmpCall(call, cb, cntxt, inlineOK))
    place <- cb$savecurloc()
    cb$setcurexpr(call)
    cntxt$call <- call
    if (!(inlineOK && compiler$tryInline(call, cb, cntxt))) compiler$cmpCallSymFun(fun, call[-1L], call, cb, cntxt)
    cb$restorecurloc(place)
  },
  # The code of an argument that is only a symbol is always the same.
  genCode = function(e, cntxt, gen = NULL, loc = NULL) {
    if (is.symbol(e) && is.null(gen) && !is.null(loc) && is.null(loc$srcref) && cntxt$tailcall && isTRUE(cntxt$suppressAll) &&
        !.Call(native$may_fold, e) && !is_special_symbol(e) && !identical(e, loc$expr)) {
      return(.Internal(mkCode(symbol_code, list(e, loc$expr, symbol_places))))
    }
    original_compiler$genCode(e, cntxt, gen, loc)
  }
)

# ..., ..1 and the missing argument.
is_special_symbol <- function(e) {
  name <- as.character(e)
  startsWith(name, "..") || !nzchar(name)
}
symbol_code <- as.integer(c(.Internal(bcVersion()), compiler$GETVAR.OP, 0L, compiler$RETURN.OP))
symbol_places <- structure(c(NA, 1L, 1L, 1L), class = "expressionsIndex")

install_faster_compiler <- function() {
  if (!is_known_compiler() || length(ls(original_compiler))) return(invisible())
  .Call(native$set_language_names, compiler$languageFuns)
  for (name in names(faster)) {
    assign(name, compiler[[name]], envir = original_compiler)
    replace_in_compiler(name, faster[[name]])
  }
}

remove_faster_compiler <- function() {
  for (name in ls(original_compiler)) replace_in_compiler(name, original_compiler[[name]])
  rm(list = ls(original_compiler), envir = original_compiler)
}

replace_in_compiler <- function(name, with) {
  unlockBinding(name, compiler)
  assign(name, with, envir = compiler)
  lockBinding(name, compiler)
}
