n <- 0
lazy <- function(a, b = { n <<- n + 1; a * 2 }) { if (a > 5) b + b else a }
lazy(3); n; lazy(6); n
delayedAssign("later", { n <- n + 10; cat("evaluated\n"); n })
n; later; later; n
f <- function(x) { cat(missing(x), ""); n <<- n + 1; g(x) }; g <- function(y) missing(y); f(); f(1)
h <- function(...) { n <<- ...length(); if (n > 1) ..2 else "none" }; h(1); h(1, "two", stop("never"))
sw <- function(v) switch(v, a = , b = { n <<- "ab"; "AB" }, stop("other")); sw("a"); n; try(sw("z"))
k <- function(x) { force(x); function() x }; fs <- list(); for (i in 1:3) fs[[i]] <- k(i); sapply(fs, function(f) f())
makeActiveBinding("act", function(v) { if (missing(v)) { n <<- "read"; 42 } else n <<- v }, globalenv())
act; n; act <- "written"; n
e <- new.env(); delayedAssign("p", stop("forced"), assign.env = e); exists("p", e); try(e$p)
x <- 1; y <- (function() { x <- 2; (function() { x <<- 3; x })() + x })(); y; x
