# Groups points with k-means written by hand, started by k-means++, and judges the groups by their silhouettes.
set.seed(1957)
centres <- rbind(c(0, 0), c(5, 1), c(2, 6), c(8, 7))
data <- do.call(rbind, lapply(1:4, function(k) cbind(rnorm(50, centres[k, 1]), rnorm(50, centres[k, 2]))))

squared <- function(points, centre) rowSums(sweep(points, 2, centre)^2)

plus_plus <- function(points, k) {
  chosen <- sample(nrow(points), 1)
  while (length(chosen) < k) {
    nearest <- do.call(pmin, lapply(chosen, function(i) squared(points, points[i, ])))
    chosen <- c(chosen, sample(nrow(points), 1, prob = nearest))
  }
  points[chosen, , drop = FALSE]
}

k_means <- function(points, k) {
  middle <- plus_plus(points, k)
  group <- rep(0L, nrow(points))
  rounds <- 0
  repeat {
    distance <- apply(middle, 1, function(centre) squared(points, centre))
    new_group <- max.col(-matrix(distance, ncol = k), ties.method = "first")
    rounds <- rounds + 1
    if (all(new_group == group)) break
    group <- new_group
    for (g in seq_len(k)) if (any(group == g)) middle[g, ] <- colMeans(points[group == g, , drop = FALSE])
  }
  list(group = group, middle = middle, within = sum((points - middle[group, , drop = FALSE])^2), rounds = rounds)
}

silhouette <- function(group, distance) {
  mean(sapply(seq_along(group), function(i) {
    mean_to <- tapply(distance[i, -i], group[-i], mean)
    own <- mean_to[as.character(group[i])]
    if (is.na(own)) return(0)
    other <- min(mean_to[names(mean_to) != group[i]])
    unname((other - own) / max(own, other))
  }))
}

distance <- as.matrix(dist(data))
results <- list()
for (k in 2:6) {
  best <- NULL
  for (start in 1:5) {
    candidate <- k_means(data, k)
    if (is.null(best) || candidate$within < best$within) best <- candidate
  }
  best$silhouette <- silhouette(best$group, distance)
  results[[as.character(k)]] <- best
}
silhouettes <- vapply(results, `[[`, 0, "silhouette")
chosen <- as.integer(names(which.max(silhouettes)))
agreement <- table(rep(1:4, each = 50), results[[as.character(chosen)]]$group)
