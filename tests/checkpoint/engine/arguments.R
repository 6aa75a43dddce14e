# Killed at every safe point: one is reached in each call of f(), while arguments are evaluated that R chooses a method by, that
# several frames share, or that change what was read before.
log <- character()
f <- function(x) { for (one in x) log <<- c(log, paste("f", one)); x + 1 }
d <- 0
with(list(q = f(1)), { d <<- q })
changed <- within(data.frame(a = f(2)), b <- a + f(3))
called <- c(do.call("f", list(f(4))), do.call("sum", list(quote(f(5)), 1)), do.call("f", list(6), envir = { f(7); globalenv() }))

area <- function(x, ...) UseMethod("area")
area.default <- function(x, k = 1, ...) f(unclass(x)) + k
area.square <- function(x, k, ...) { side <- f(8); NextMethod() + k + side }
areas <- area(f(9)) + area(structure(f(10), class = "square"), k = f(11))
fresh <- function(x = f(12)) UseMethod("fresh")
fresh.default <- function(x) if (missing(x)) "none" else x
none <- fresh()
setGeneric("run", function(object, ...) standardGeneric("run"))
setMethod("run", "numeric", function(object, k = 2, ...) f(object) * k)
ran <- run(f(13), k = f(14))
rm(run)

# Evaluated once, though two frames have it.
noisy <- function(x) { log <<- c(log, paste("noisy", x)); x }
inner <- function(a, ...) f(a) + sum(...)
around <- function(...) inner(15, ...) + sum(...)
shared <- around(noisy(1), noisy(2))
passed <- area(structure(16, class = "square"), noisy(3))
each <- apply(diag(2), 1, area, k = noisy(4))

# Read before it is changed.
first <- function() { u <- 10; u + f(u <- 17) }
element <- function() { v <- 1:3; v[2] + f((v[2] <- 18L)) }
field <- function() { e <- new.env(); e$m <- 1; change <- function(by) { e$m <- by; f(by) }; e$m + change(19) }
default <- function(p = { q <- 20; 1 }) { q <- 2; q + f(p) }
both <- function(a, b) { s <- f(a); s + b }
moved <- function() { z <- 10; both(z, f(z <- 5)) }
handled <- function() { h <- function(e) "old"; tryCatch({ h <- function(e) "new"; f(21); stop("x") }, error = h) }
kept <- list(first(), element(), field(), default(), moved(), handled())
