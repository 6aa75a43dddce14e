# Draws with several random number generators, streams and samplers, and goes back to saved states.
library(parallel)
rejection <- function(density, bound, draw) {
  tries <- 0
  repeat {
    tries <- tries + 1
    x <- draw()
    if (runif(1) * bound < density(x)) return(c(x, tries))
  }
}

kinds <- c("Mersenne-Twister", "Wichmann-Hill", "Marsaglia-Multicarry", "Super-Duper", "Knuth-TAOCP-2002", "L'Ecuyer-CMRG")
means <- list()
for (kind in kinds) {
  suppressWarnings(RNGkind(kind))
  set.seed(12)
  total <- 0
  for (i in 1:9000) total <- total + runif(1)
  means[[kind]] <- c(uniform = total / 9000, normal = mean(rnorm(500)), sample(100, 3))
}

RNGkind("L'Ecuyer-CMRG")
set.seed(123)
streams <- list(.Random.seed)
for (k in 2:5) streams[[k]] <- nextRNGStream(streams[[k - 1]])
stream_sums <- vapply(streams, function(stream) {
  assign(".Random.seed", stream, envir = globalenv())
  sum(rexp(1000)) + sum(sample.int(10, 1000, TRUE))
}, 0)

RNGkind("Mersenne-Twister", "Inversion", "Rejection")
set.seed(2718)
accepted <- t(replicate(2500, rejection(function(x) dbeta(x, 2, 5), 2.5, function() runif(1))))
efficiency <- nrow(accepted) / sum(accepted[, 2])

saved <- .Random.seed
first <- rnorm(5)
.Random.seed <- saved
second <- rnorm(5)
repeats <- identical(first, second)

urn <- rep(c("red", "blue"), c(5, 3))
history <- character(0)
while (length(history) < 1500) {
  ball <- sample(urn, 1)
  urn <- c(urn, ball)
  history[length(history) + 1] <- ball
}
red_share <- cumsum(history == "red") / seq_along(history)
old_sample <- suppressWarnings({
  RNGkind(sample.kind = "Rounding")
  set.seed(1)
  sample(1000, 5)
})
suppressWarnings(RNGkind("Marsaglia-Multicarry", "Ahrens-Dieter"))
set.seed(6)
walk <- cumsum(rnorm(300))
dice <- table(replicate(1500, sum(sample(6, 2, TRUE))))
kind_at_end <- RNGkind()
