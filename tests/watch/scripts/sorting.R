v <- c(5, 2, 9, 1)
swaps <- 0
for (i in seq_len(length(v) - 1)) for (j in seq_len(length(v) - i)) if (v[j] > v[j + 1]) { tmp <- v[j]; v[j] <- v[j + 1]; v[j + 1] <- tmp; swaps <- swaps + 1 }
v; swaps
sieve <- rep(TRUE, 50); sieve[1] <- FALSE; for (i in 2:7) if (sieve[i]) sieve[seq(i * i, 50, i)] <- FALSE; which(sieve)
q <- list(); enqueue <- function(x) q[[length(q) + 1]] <<- x; dequeue <- function() { h <- q[[1]]; q[[1]] <<- NULL; h }
for (i in 1:5) enqueue(i * i); dequeue(); dequeue(); length(q); unlist(q)
grid <- matrix(".", 3, 5); grid[2, 3] <- "X"; cat(apply(grid, 1, paste, collapse = ""), sep = "\n")
life <- matrix(0L, 5, 5); life[3, 2:4] <- 1L; step <- function() { n <- life; for (i in 2:4) for (j in 2:4) { s <- sum(life[(i-1):(i+1), (j-1):(j+1)]) - life[i, j]; n[i, j] <- as.integer(s == 3 || (s == 2 && life[i, j])) }; life <<- n }
step(); life; for (k in 1:3) step(); life
dist <- c(a = 0, b = Inf, c = Inf); edges <- list(c("a", "b", 4), c("a", "c", 1), c("c", "b", 2)); for (r in 1:2) for (e in edges) { d <- dist[[e[1]]] + as.numeric(e[3]); if (d < dist[[e[2]]]) dist[e[2]] <- d }; dist
order(c("b", "a", "C")); rank(c(10, 20, 10)); rle(c(1, 1, 2)); cut(c(1, 5), c(0, 2, 6)); findInterval(3, c(1, 2, 4)); do.call(mapply, list(FUN = function(a, b) a - b, 4:5, 1:2))
