# Matrix algebra by hand against LAPACK: LU with pivoting, Gram-Schmidt, power iteration, Jacobi rotations, a Markov chain.
set.seed(1801)
n <- 80
a <- matrix(rnorm(n * n), n)
symmetric <- crossprod(a) / n

lu <- function(m) {
  size <- nrow(m)
  order <- seq_len(size)
  for (k in seq_len(size - 1)) {
    pivot <- which.max(abs(m[k:size, k])) + k - 1
    if (pivot != k) {
      m[c(k, pivot), ] <- m[c(pivot, k), ]
      order[c(k, pivot)] <- order[c(pivot, k)]
    }
    for (i in (k + 1):size) {
      m[i, k] <- m[i, k] / m[k, k]
      for (j in (k + 1):size) m[i, j] <- m[i, j] - m[i, k] * m[k, j]
    }
  }
  lower <- m
  lower[upper.tri(m, diag = TRUE)] <- 0
  diag(lower) <- 1
  upper <- m
  upper[lower.tri(m)] <- 0
  list(l = lower, u = upper, order = order)
}
parts <- lu(a)
lu_error <- max(abs(parts$l %*% parts$u - a[parts$order, ]))

gram_schmidt <- function(m) {
  q <- m
  for (j in seq_len(ncol(m))) {
    for (i in seq_len(j - 1)) q[, j] <- q[, j] - sum(q[, i] * q[, j]) * q[, i]
    q[, j] <- q[, j] / sqrt(sum(q[, j]^2))
  }
  q
}
orthogonality <- max(abs(crossprod(gram_schmidt(a)) - diag(n)))

jacobi <- function(m, sweeps = 9) {
  for (sweep in seq_len(sweeps)) for (p in 1:(n - 1)) for (q in (p + 1):n) {
    if (abs(m[p, q]) < 1e-14) next
    angle <- 0.5 * atan2(2 * m[p, q], m[q, q] - m[p, p])
    rotation <- matrix(c(cos(angle), -sin(angle), sin(angle), cos(angle)), 2)
    m[, c(p, q)] <- m[, c(p, q)] %*% rotation
    m[c(p, q), ] <- t(rotation) %*% m[c(p, q), ]
  }
  sort(diag(m), decreasing = TRUE)
}
eigenvalues <- jacobi(symmetric)
eigen_error <- max(abs(eigenvalues - eigen(symmetric, symmetric = TRUE)$values))

vector <- rep(1, n)
rounds <- 0
repeat {
  image <- symmetric %*% vector
  image <- image / sqrt(sum(image^2))
  rounds <- rounds + 1
  if (max(abs(image - vector)) < 1e-10 || rounds == 5000) break
  vector <- image
}
weather <- matrix(c(0.7, 0.2, 0.1, 0.3, 0.4, 0.3, 0.2, 0.3, 0.5), 3, byrow = TRUE)
power <- diag(3)
for (day in 1:200) power <- power %*% weather
determinants <- sapply(1:40, function(k) det(a[1:5, ((k + 0:4) %% n) + 1]))
inverse_error <- max(abs(solve(a) %*% a - diag(n)))
singular <- svd(a)$d
