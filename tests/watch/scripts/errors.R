x <- 0
try(x <- stop("first"))
try({ x <- 1; x <- undefined_thing })
try(x[[5]])
try(x$y)
try(x[["k"]] <- f_undefined(3))
f <- function(n) { x <<- n; if (n == 0) stop("bottom ", x); f(n - 1) }
r <- tryCatch(f(4), error = function(e) { print(conditionCall(e)); conditionMessage(e) }); r; x
tryCatch({ x <- 5; warning("w") }, warning = function(w) x <<- 6, finally = { x <- x + 0.5; print(x) })
g <- function() { on.exit({ x <<- "left"; cat("exit\n") }); x <<- "in"; stop("g fails") }
try(g(), silent = TRUE); x; cat(geterrmessage())
try(if (c(TRUE, FALSE)) x <- 1)
try(if (NA) x <- 1)
try(1 + "a")
try(x <- 1 + "a")
try(5 <- x)
try(x[1:2][[3]] <- list())
try(lm(y ~ nothing))
res <- withRestarts(invokeRestart("mine", 3), mine = function(v) x <<- v * 2); res
stopifnot("x is six" = x == 6)
tryCatch(stopifnot("x is seven" = x == 7), error = function(e) cat(conditionMessage(e), "\n"))
signalCondition(simpleCondition("m"), NULL)
