f <- function(x, ...) { r <- list(sys.call(), match.call(), sys.function(), nargs(), missing(x)); total <<- total + 1; r }
total <- 0
a <- f(1, k = 2)
b <- f()
print(a)
print(b)
g <- function(...) { total <<- total + 10; f(...) }
print(g(1 + 1, z = total)[1:2])
outermost <- function() { middle <- function() { total <<- total + 100; sys.calls() }; middle() }
print(outermost())
print(do.call(f, list(quote(a + b), 2))[[1]])
print(do.call("f", list(x = 5))[[2]])
h <- function(x) { total <<- x; parent.frame() }
print(identical(h(3), globalenv()))
print(body(g)); print(formals(f)); print(args(f))
deparse(g)
