x <- 1
(x <- 2)
x <<- 3
invisible(x)
if (FALSE) 1
NULL
f <- function() x <<- 5
f()
(f())
y <- f()
g <- function() { x <<- 6; invisible(7) }
g()
print(g())
h <- function() return(x <<- 8)
h()
k <- function() if (TRUE) x <<- 9
k(); k(); k(); (k())
for (i in 1:2) x <- i
assign("x", 10)
z <- assign("x", 11); z
x[2] <- 5
(x[3] <- 6)
x
m <- function() names(x) <<- letters[1:3]
m(); x
withVisible(x <- 1)$visible
withVisible(f())$visible
repeat { x <- x + 1; if (x > 3) break }
while (FALSE) 1
switch("a", a = x <- 3)
suppressWarnings(x <- 4)
identity(x <- 5)
