# A short loop in a function that is called often. 900000 iterations.
f <- function(v) {
  s <- 0
  for (k in seq_along(v)) s <- s + v[k]
  s
}
v <- c(1, 2, 3)
x <- 0
for (i in 1:300000) x <- x + f(v)
