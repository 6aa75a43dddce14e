x <- 0
f <- function(n) { for (i in 1:n) x <<- x + i; x }
f(3); f(3); g <- compiler::cmpfun(f); g(2); x
compiler::enableJIT(0); h <- function() { x <<- x * 2; x }; h(); h(); h(); invisible(compiler::enableJIT(3)); h(); h(); h()
identical(f, g); all.equal(f, g); e <- compiler::compile(quote(x <- x + 1)); eval(e); eval(e); x
k <- function() { x <<- 1; return(x); x <<- 2 }; k(); k(); k(); x
w <- function() { while (x < 10) { x <<- x + 3; if (x == 7) next }; x }; w(); x <- 0; w(); x <- 0; w()
big <- function(a) { if (a) { x <<- "yes" } else { x <<- "no" } }; big(TRUE); y <- big(FALSE); y; x; big(TRUE); x
z <- function() x[2] <<- "second"; z(); z(); z(); x; (z())
p <- function() { r <- x <<- 5; r }; p(); p(); p(); s <- function() { identity(x <<- 6) }; s(); s(); s(); x
nested <- function() { q <- function() x <<- x + 1; q(); q() }; nested(); nested(); nested(); x
sw <- function(k) switch(k, x <<- "one", x <<- "two"); sw(1); sw(2); (sw(2)); x
sapply(1:3, function(i) { x <<- i; function() x })[[1]](); x
browser_like <- function() { if (FALSE) browser(); x <<- "b"; x }; browser_like(); browser_like(); browser_like()
