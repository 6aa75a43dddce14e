x <- as.integer("a")
x <- 1:3 + 1:2
f <- function(v) { x <<- as.numeric(v); warning("mine ", v); x }
f("7"); f("b")
for (i in 1:3) { x <- sqrt(-i); x <- x + 1 }
g <- function() { x <<- log(-1); warning("in g", call. = FALSE) }
g(); g(); g()
withCallingHandlers({ x <- as.integer("q"); x <- 2 }, warning = function(w) { cat("caught:", conditionMessage(w), deparse(conditionCall(w)), "\n"); invokeRestart("muffleWarning") })
options(warn = 1)
x <- as.integer("z")
f("c")
r <- tryCatch(x <- as.integer("y"), warning = function(w) conditionCall(w)); print(r)
options(warn = 0)
for (i in 1:60) x <- as.integer("many")
suppressWarnings({ x <- as.integer("quiet"); x <- 9 })
message("to stderr ", x)
