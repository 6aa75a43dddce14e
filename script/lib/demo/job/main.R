# How sure is the difference in petal length between two kinds of iris? A bootstrap, in twelve rounds.
flowers <- read.csv("flowers.csv")
draw <- function(kind) mean(sample(flowers$length[flowers$kind == kind], replace = TRUE))
differences <- numeric()
for (i in 1:12) {
  differences <- c(differences, replicate(12000, draw("virginica") - draw("versicolor")))
  cat(sprintf("round %2d: %.4f so far\n", i, mean(differences)))
  remotist::progress(i / 12, paste("round", i))
}
interval <- quantile(differences, c(0.025, 0.5, 0.975))
writeLines(format(interval), "interval.txt")
