# The apply family on arrays and lists: apply over margins, sweep, scale, vapply, mapply, rapply, outer, aperm, tapply, by.
set.seed(2012)
cube <- array(rgamma(12 * 10 * 8, 2), c(12, 10, 8),
              dimnames = list(month.abb, paste0("site", 1:10), paste0("y", 2001:2008)))
gini <- function(x) {
  x <- sort(x)
  n <- length(x)
  total <- 0
  for (i in seq_len(n)) total <- total + (2 * i - n - 1) * x[i]
  total / (n * sum(x))
}

by_site <- apply(cube, 2, gini)
by_month_year <- apply(cube, c(1, 3), function(v) c(mean = mean(v), gini = gini(v)))
anomalies <- sweep(cube, c(1, 2), apply(cube, c(1, 2), mean))
scaled <- apply(cube, c(2, 3), function(v) (v - mean(v)) / sd(v))
turned <- aperm(cube, c(3, 1, 2))
flat <- matrix(turned, nrow = 8)
correlation <- outer(1:10, 1:10, Vectorize(function(i, j) cor(as.vector(cube[, i, ]), as.vector(cube[, j, ]))))

permutation_p <- function(a, b, rounds) {
  observed <- abs(mean(a) - mean(b))
  pool <- c(a, b)
  hits <- vapply(seq_len(rounds), function(k) {
    mixed <- sample(pool)
    abs(mean(mixed[seq_along(a)]) - mean(mixed[-seq_along(a)])) >= observed
  }, NA)
  mean(hits)
}
p_values <- mapply(function(i, j) permutation_p(cube[, i, ], cube[, j, ], 150), rep(1:10, 10), rep(1:10, each = 10))
p_matrix <- matrix(p_values, 10)
smallest <- which(p_matrix == min(p_matrix), arr.ind = TRUE)[1, ]

long <- as.data.frame.table(cube, responseName = "rain")
names(long)[1:3] <- c("month", "site", "year")
seasons <- c("winter", "spring", "summer", "autumn")[c(1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 1)]
long$season <- factor(seasons[as.integer(long$month)])
medians <- with(long, tapply(rain, list(season, year), median))
pieces <- by(long, long$season, function(part) c(n = nrow(part), top = max(part$rain)))
summary_list <- lapply(split(long$rain, long$season), function(v) list(mean = mean(v), tails = quantile(v, c(0.1, 0.9))))
rounded <- rapply(summary_list, round, digits = 2, how = "list")
ranks <- ave(long$rain, long$site, FUN = rank)
running <- sapply(split(long$rain, long$site), function(v) max(cumsum(v - mean(v))))
simplified <- list(sapply(1:3, seq_len), sapply(1:3, function(i) c(i, i^2)),
                   sapply(character(0), nchar), t(vapply(1:2, function(i) i + 0:2, numeric(3))))
pairs <- Map(`-`, medians["summer", ], medians["winter", ])
wettest <- arrayInd(which.max(cube), dim(cube))
