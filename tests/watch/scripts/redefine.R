x <- 1
f <- function(a, b) { x <<- a + b; x }
f(1, 2); f(3, 4); f(5, 6)
`+` <- function(e1, e2) { if (missing(e2)) e1 else base::`+`(base::`+`(e1, e2), 1000) }
f(1, 2); x + 1
for (i in 1:3) x <- x + i
x
rm(`+`)
f(1, 2)
c <- function(...) "my c"; x <- c(1, 2); x; rm(c); x <- c(1, 2); x
`if` <- function(a, b, c) "my if"; x <- if (TRUE) 1 else 2; x; rm(`if`); x <- if (TRUE) 1 else 2; x
print <- function(...) { x <<- "printing"; base::print(...) }; x <- 5; print(x); x; rm(print)
T <- 0; x <- T; x; rm(T); x <- T; x
sum <- 5; x <- sum(1:3) + sum; x; rm(sum)
`<-` <- function(a, b) cat("assignment is off\n")
x <- 99
rm("<-"); x
length <- function(y) 42; x <- length(1:3); x; rm(length)
`[` <- function(y, i) "sub"; x <- (1:3)[2]; x; rm(`[`); x <- (1:3)[2]; x
`(` <- function(e) "paren"; (x <- 3); x; rm(`(`)
`{` <- function(...) "brace"; x <- { 1; 2 }; x; rm(`{`); x <- { 1; 2 }; x
g <- function(`+`) { x <<- 2 + 3; x }; g(function(a, b) a * b); g(function(a, b) a - b); g(base::`+`)
pi <- 3; x <- pi * 2; x; rm(pi); x <- pi; x
