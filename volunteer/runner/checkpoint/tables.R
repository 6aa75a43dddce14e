# What the engine knows about R's own functions. Evaluated into the engine's environment, as all files here.

loop_names <- c("for", "while", "repeat")
assignment_names <- c("<-", "=", "<<-")

# Their arguments are not evaluated, or later: nothing in them is touched.
opaque_names <- c("quote", "bquote", "substitute", "expression", "~", "on.exit", "delayedAssign", "makeActiveBinding")

# Primitives that evaluate all arguments, from left to right, before they do anything. To find them, R has to read all that is
# in base, so they are looked for when they are needed.
delayedAssign("strict_names", local({
  all <- ls(baseenv(), all.names = TRUE)
  builtin <- all[vapply(all, function(name) typeof(get(name, baseenv())) == "builtin", NA)]
  not <- c(".Call", ".External", ".External2", ".C", ".Fortran", ".Primitive", "UseMethod", "standardGeneric",
           "invisible", "(", "browser", "lazyLoadDBfetch", "environment<-", "nargs", "interactive", "as.call",
           "as.environment", "emptyenv", "baseenv", "globalenv", "pos.to.env", "proc.time", "gc.time", "xtfrm",
           ".subset", ".subset2", ".primTrace", ".primUntrace", ".cache_class", "enc2native", "cbind", "rbind")
  setdiff(c(builtin, "round", "signif", "log"), c(not, all[endsWith(all, "<-")]))
}))

# Methods of these are methods of all primitives of a kind.
group_names <- c("Ops", "Math", "Summary", "Complex", "matrixOps", "Arith", "Compare", "Logic")

# Closures of R that force these arguments first, and never look at their expressions.
eager_names <- c("print", "cat", "paste", "paste0", "mean", "sd", "var", "median", "unlist", "sprintf", "format", "rev",
                 "sort", "identical", "message", "nchar", "toupper", "tolower", "strsplit", "as.vector", "round", "sqrt",
                 "matrix", "append", "summary", "quantile", "diff", "range", "formatC", "trimws", "isTRUE", "isFALSE",
                 "which.max", "which.min", "nrow", "ncol", "NROW", "NCOL", "colMeans", "rowMeans", "colSums", "rowSums",
                 "head", "tail", "unique", "factor", "stop", "warning", "cumsum", "setdiff", "union", "as.numeric",
                 "as.integer", "as.character", "rowsum", "writeLines", "Recall", "outer", "crossprod", "t", "apply")

# The first argument is evaluated inside of them, where the call stands; the others must do no harm when they are
# evaluated a second time.
wrapper_names <- c("tryCatch", "try", "withCallingHandlers", "suppressWarnings", "suppressMessages", "system.time",
                   "identity", "force", "invisible", "return", "(", "withVisible")

# Loops that R does in C or in functions of its own; the engine has its own of each.
family_names <- c("lapply", "sapply", "vapply", "Map", "mapply", "Reduce", "Filter", "Position", "Find", "apply",
                  "tapply", "replicate")

# A function that uses one of these sees what is hidden in its frame, or the frames below it.
shy_names <- c("eapply", "browser", "sys.frames", "sys.calls", "sys.frame", "sys.nframe", "sys.parents", "sys.parent",
               "dump.frames", "callCC", "trace", "debug", "undebug", "registerS3method")
# These only together with a frame: as.list(environment()).
listing_names <- c("as.list", "mget", "as.list.environment", "list2env", "env2list", "lapply", "sapply", "identical",
                   "all.equal", "length", "names", "serialize", "saveRDS", "save", "str", "print")
frame_names <- c("environment", "parent.frame", "globalenv", ".GlobalEnv", "sys.function", "as.environment")

# Who calls one of these looks at the expressions of its arguments, or at who called it.
caller_names <- c("substitute", "match.call", "sys.call", "sys.function", "enquote", "parent.frame", "eval.parent", "evalq", "match.arg", "nargs", "quote", "bquote", "enexpr", "enquo")
