# The nearest neighbours of 400 points among 4,000, in eight dimensions.
set.seed(1)
known <- matrix(rnorm(4000 * 8), ncol = 8)
label <- rowSums(known) > 0
asked <- matrix(rnorm(400 * 8), ncol = 8)
x <- vapply(seq_len(nrow(asked)), function(i) {
  distance <- colSums((t(known) - asked[i, ])^2)
  mean(label[order(distance)[1:7]]) > 0.5
}, logical(1))
