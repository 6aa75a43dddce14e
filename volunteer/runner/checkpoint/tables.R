# Properties of R's own functions. Evaluated in the engine's environment, like all files here.

loop_names <- c("for", "while", "repeat")
assignment_names <- c("<-", "=", "<<-")

# Functions that do not evaluate their arguments, or evaluate them later: their arguments are not rewritten.
opaque_names <- c("quote", "bquote", "substitute", "expression", "~", "on.exit", "delayedAssign", "makeActiveBinding")

# Primitives that evaluate all arguments, from left to right, before they do anything. Finding them loads
# all of base, so that is done on first use.
delayedAssign("strict_names", local({
  all <- ls(baseenv(), all.names = TRUE)
  builtin <- all[vapply(all, function(name) typeof(get(name, baseenv())) == "builtin", NA)]
  not <- c(".Call", ".External", ".External2", ".C", ".Fortran", ".Primitive", "UseMethod", "standardGeneric",
           "invisible", "(", "browser", "lazyLoadDBfetch", "environment<-", "nargs", "interactive", "as.call",
           "as.environment", "emptyenv", "baseenv", "globalenv", "pos.to.env", "proc.time", "gc.time", "xtfrm",
           ".subset", ".subset2", ".primTrace", ".primUntrace", ".cache_class", "enc2native", "cbind", "rbind")
  setdiff(c(builtin, "round", "signif", "log"), c(not, all[endsWith(all, "<-")]))
}))

# Group generics: a method of one is a method of all primitives in the group.
group_names <- c("Ops", "Math", "Summary", "Complex", "matrixOps", "Arith", "Compare", "Logic")

# Closures of R that force their first argument first, and never use the expressions of their arguments.
eager_names <- c("print", "cat", "paste", "paste0", "mean", "sd", "var", "median", "unlist", "sprintf", "format", "rev",
                 "sort", "identical", "message", "nchar", "toupper", "tolower", "strsplit", "as.vector", "round", "sqrt",
                 "matrix", "append", "summary", "quantile", "diff", "range", "formatC", "trimws", "isTRUE", "isFALSE",
                 "which.max", "which.min", "nrow", "ncol", "NROW", "NCOL", "colMeans", "rowMeans", "colSums", "rowSums",
                 "head", "tail", "unique", "factor", "stop", "warning", "cumsum", "setdiff", "union", "as.numeric",
                 "as.integer", "as.character", "rowsum", "writeLines", "Recall", "outer", "crossprod", "t", "apply")

# They evaluate their first argument in the caller's frame; the other arguments must be safe to evaluate twice.
wrapper_names <- c("tryCatch", "try", "withCallingHandlers", "suppressWarnings", "suppressMessages", "system.time",
                   "identity", "force", "invisible", "return", "(", "withVisible")

# The apply functions, which loop in C or in R code; apply_loops.R has a resumable version of each.
apply_names <- c("lapply", "sapply", "vapply", "Map", "mapply", "Reduce", "Filter", "Position", "Find", "apply",
                  "tapply", "replicate")

# A function that calls one of these could see hidden variables in its frame, or the frames below it.
unrewritable_names <- c("eapply", "browser", "sys.frames", "sys.calls", "sys.frame", "sys.nframe", "sys.parents", "sys.parent",
               "dump.frames", "callCC", "trace", "debug", "undebug", "registerS3method")
# These only with a frame as an argument: as.list(environment()).
listing_names <- c("as.list", "mget", "as.list.environment", "list2env", "env2list", "lapply", "sapply", "identical",
                   "all.equal", "length", "names", "serialize", "saveRDS", "save", "str", "print")
frame_names <- c("environment", "parent.frame", "globalenv", ".GlobalEnv", "sys.function", "as.environment")

# A function that calls one of these inspects the expressions of its arguments, or its caller.
caller_names <- c("substitute", "match.call", "sys.call", "sys.function", "enquote", "parent.frame", "eval.parent", "evalq", "match.arg", "nargs", "quote", "bquote", "enexpr", "enquo")
