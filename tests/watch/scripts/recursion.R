depth <- 0
walk <- function(tree) { depth <<- depth + 1; if (is.list(tree)) sum(vapply(tree, walk, 0)) else tree }
walk(list(1, list(2, 3, list(4)), 5)); depth
hanoi_moves <- 0
hanoi <- function(n, a = "a", b = "b", c = "c") { if (n == 0) return(invisible()); hanoi(n - 1, a, c, b); hanoi_moves <<- hanoi_moves + 1; hanoi(n - 1, c, b, a) }
hanoi(8); hanoi_moves
ack <- function(m, n) { depth <<- max(depth, n); if (m == 0) n + 1 else if (n == 0) ack(m - 1, 1) else ack(m - 1, ack(m, n - 1)) }
ack(2, 3); depth
r <- tryCatch({ f <- function() f(); options(expressions = 500); f() }, error = function(e) "too deep"); r
options(expressions = 5000)
perms <- function(v) { if (length(v) <= 1) return(list(v)); out <- list(); for (i in seq_along(v)) for (p in perms(v[-i])) out[[length(out) + 1]] <- c(v[i], p); out }
length(perms(1:5)); perms(1:3)[[4]]
qs <- function(v) if (length(v) <= 1) v else { p <- v[1]; r <- v[-1]; c(qs(r[r < p]), p, qs(r[r >= p])) }
qs(c(3, 1, 4, 1, 5, 9, 2, 6))
