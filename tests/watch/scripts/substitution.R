count <- 0
show <- function(expr) { count <<- count + 1; deparse(substitute(expr)) }
x <- 3
print(show(x <- 5)); print(x)
print(show({ x <<- 6; x }))
later <- function(v) { count <<- count + 1; force(v); count }
later(x <- 10); x
q <- quote(if (a) x <- 1 else x <<- 2)
print(q); print(eval(q, list(a = TRUE))); print(x)
b <- bquote(x <- .(x) + 1); print(b); eval(b); x
ff <- function(...) { x <<- length(list(...)); substitute(list(...)) }
ff(a, b + 1, x <- 3); x
body(ff)[[2]]
as.list(body(ff))
e <- expression(x <- x + 1, x * 2); for (i in seq_along(e)) print(eval(e[[i]]))
f2 <- function() { x <- 1; g <- function() x <<- x + 1; g(); x }
f2(); f2(); f2(); x
