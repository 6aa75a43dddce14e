# How sure is the difference in petal length between two kinds of iris? A bootstrap, in 24 rounds.
flowers <- read.csv("flowers.csv")
draw <- function(kind) mean(sample(flowers$length[flowers$kind == kind], replace = TRUE))
differences <- numeric()
for (i in 1:24) {
  differences <- c(differences, replicate(6000, draw("virginica") - draw("versicolor")))
  estimate <- mean(differences)
  if (i %% 6 == 0) cat(sprintf("round %2d: %.4f so far\n", i, estimate))
  remotist::progress(i / 24, paste("round", i))
}
interval <- quantile(differences, c(0.025, 0.5, 0.975))
writeLines(format(interval), "interval.txt")
