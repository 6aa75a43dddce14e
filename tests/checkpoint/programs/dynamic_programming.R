# Knapsack, longest common subsequence and edit distance by dynamic programming, with the way back.
set.seed(88)
knapsack <- function(weight, value, capacity) {
  n <- length(weight)
  best <- matrix(0, n + 1, capacity + 1)
  for (i in 1:n) {
    for (room in 0:capacity) {
      without <- best[i, room + 1]
      best[i + 1, room + 1] <-
        if (weight[i] > room) without else max(without, best[i, room - weight[i] + 1] + value[i])
    }
  }
  taken <- c()
  room <- capacity
  for (i in n:1) {
    if (best[i + 1, room + 1] != best[i, room + 1]) {
      taken <- c(i, taken)
      room <- room - weight[i]
    }
  }
  list(value = best[n + 1, capacity + 1], taken = taken)
}

common_subsequence <- function(a, b) {
  a <- strsplit(a, "")[[1]]
  b <- strsplit(b, "")[[1]]
  len <- matrix(0L, length(a) + 1, length(b) + 1)
  for (i in seq_along(a)) for (j in seq_along(b)) {
    len[i + 1, j + 1] <- if (a[i] == b[j]) len[i, j] + 1L else max(len[i, j + 1], len[i + 1, j])
  }
  i <- length(a)
  j <- length(b)
  out <- character(0)
  while (i > 0 && j > 0) {
    if (a[i] == b[j]) {
      out <- c(a[i], out)
      i <- i - 1
      j <- j - 1
    } else if (len[i, j + 1] >= len[i + 1, j]) i <- i - 1 else j <- j - 1
  }
  paste(out, collapse = "")
}

edit_distance <- function(a, b) {
  b <- utf8ToInt(b)
  row <- 0:length(b)
  for (letter in utf8ToInt(a)) {
    previous <- row
    row[1] <- previous[1] + 1
    for (j in seq_along(b)) row[j + 1] <- min(row[j] + 1, previous[j + 1] + 1, previous[j] + (letter != b[j]))
  }
  row[length(row)]
}

pack <- knapsack(sample(5:40, 60, TRUE), round(runif(60, 1, 100)), 1500)
dna <- replicate(4, paste(sample(c("a", "c", "g", "t"), 240, TRUE), collapse = ""))
common <- outer(1:4, 1:4, Vectorize(function(i, j) if (i < j) common_subsequence(dna[i], dna[j]) else ""))
words <- c("kitten", "sitting", "saturday", "sunday", "rosettacode", "raisethysword", "intention", "execution")
distances <- sapply(words, function(a) sapply(words, function(b) edit_distance(a, b)))
nearest <- apply(distances + diag(99, length(words)), 1, function(d) names(which.min(d)))
