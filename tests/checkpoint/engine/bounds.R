# Bounds that change while the loop runs, by whatever way, do not change how far it goes.
by_frame <- function() {
  n <- 40
  e <- environment()
  s <- 0
  for (i in 1:n) {
    e$n <- 3
    s <- s + i
  }
  s
}
by_alias <- function() {
  state <- new.env()
  state$n <- 30
  a <- b <- state
  s <- 0
  for (i in seq_len(a$n)) {
    b$n <- b$n - 1
    s <- s + i
  }
  s
}
by_element <- function() {
  state <- new.env()
  state$v <- 1:25
  name <- "v"
  other <- state
  s <- 0
  for (i in seq_along(state$v)) {
    other[[name]] <- 1:2
    s <- s + i
  }
  s
}
by_itself <- function(x, n = length(x)) {
  for (i in seq_along(x)) {
    x <- c(x, i)
    n <- n - 1
  }
  for (i in 1:n) n <- n + 1
  c(length(x), n)
}
as_it_was <- c(by_frame(), by_alias(), by_element(), by_itself(1:40))
