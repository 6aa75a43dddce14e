log <- character()
add <- function(...) log <<- c(log, paste0(...))
out <- withCallingHandlers(
  { add("start"); message("m1"); warning("w1"); add("after"); 10 },
  message = function(m) { add("msg ", conditionMessage(m)); invokeRestart("muffleMessage") },
  warning = function(w) { add("warn ", conditionMessage(w)); invokeRestart("muffleWarning") })
out; log
nested <- tryCatch({ tryCatch(stop("a"), error = function(e) { add("inner"); stop("b") }, finally = add("fin1")) }, error = function(e) { add("outer ", conditionMessage(e)); -1 }, finally = add("fin2"))
nested; log
cond <- structure(class = c("custom", "condition"), list(message = "hi", call = NULL))
r <- withRestarts(tryCatch({ signalCondition(cond); "not" }, custom = function(c) { add("custom"); "got" }), skip = function() 0); r
f <- function() { on.exit(add("exit1")); on.exit(add("exit2"), add = TRUE); add("body"); invisible("f") }
f(); v <- f(); v; log
g <- function() { tryCatch(return("early"), finally = add("g done")); "late" }; g()
for (i in 1:3) tryCatch({ if (i == 2) next; add("i", i) }, error = identity)
try(log[[100]]); try(stop("plain"), silent = TRUE); inherits(try(stop("x"), silent = TRUE), "try-error")
h <- function() { warning("from h"); "h" }; x <- suppressWarnings(h()); x; rlang_like <- tryCatch(stop(cond), condition = function(c) class(c)); rlang_like
trace_me <- function() { add("t"); sys.calls() }; length(trace_me()); tail(log, 2); h()
