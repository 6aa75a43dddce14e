# Ranks pages and solves a Poisson problem with sparse matrices: power iteration and conjugate gradients by hand.
# Needs the package Matrix.
library(Matrix)
set.seed(98)
pages <- 400
links <- unique(data.frame(from = sample(pages, 2500, TRUE), to = sample(pages, 2500, TRUE, prob = 1 / (1:pages))))
links <- links[links$from != links$to, ]
web <- sparseMatrix(i = links$to, j = links$from, x = 1, dims = c(pages, pages))
out <- colSums(web)
transition <- web %*% Diagonal(x = ifelse(out > 0, 1 / out, 0))
rank <- rep(1 / pages, pages)
changes <- c()
repeat {
  lost <- sum(rank[out == 0])
  new_rank <- as.vector(0.85 * (transition %*% rank)) + (0.15 + 0.85 * lost) / pages
  changes <- c(changes, sum(abs(new_rank - rank)))
  rank <- new_rank
  if (changes[length(changes)] < 1e-12 || length(changes) > 200) break
}
top_pages <- order(rank, decreasing = TRUE)[1:10]

n <- 24
second <- bandSparse(n, k = -1:1, diagonals = list(rep(-1, n - 1), rep(2, n), rep(-1, n - 1)))
laplacian <- kronecker(second, Diagonal(n)) + kronecker(Diagonal(n), second)
right <- rep(0, n * n)
right[c(100, 300)] <- c(1, -1)

conjugate_gradients <- function(a, b, tolerance = 1e-10) {
  x <- numeric(length(b))
  r <- b
  p <- r
  norm <- sum(r * r)
  rounds <- 0
  while (sqrt(norm) > tolerance) {
    ap <- as.vector(a %*% p)
    alpha <- norm / sum(p * ap)
    x <- x + alpha * p
    r <- r - alpha * ap
    next_norm <- sum(r * r)
    p <- r + (next_norm / norm) * p
    norm <- next_norm
    rounds <- rounds + 1
  }
  list(x = x, rounds = rounds)
}
solved <- conjugate_gradients(laplacian, right)
direct <- as.vector(solve(laplacian, right))
worst <- max(abs(solved$x - direct))
factor_size <- length(Cholesky(laplacian)@x)
share_filled <- nnzero(laplacian) / length(laplacian)
