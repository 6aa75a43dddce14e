# The nearest neighbours of points among 4,000, in eight dimensions, one after the other, with what was found in
# fifteen variables.
set.seed(1)
known <- matrix(rnorm(4000 * 8), ncol = 8)
label <- rowSums(known) > 0
w1 <- w2 <- w3 <- w4 <- w5 <- w6 <- w7 <- w8 <- w9 <- w10 <- w11 <- w12 <- w13 <- w14 <- w15 <- 0
for (i in seq_len(steps * 50)) {
  w1 <- i
  w2 <- rnorm(8)
  w3 <- colSums((t(known) - w2)^2)
  w4 <- order(w3)[1:7]
  w5 <- w3[w4]
  w6 <- mean(label[w4])
  w7 <- w6 > 0.5
  w8 <- w8 + w7
  w9 <- w8 / i
  w10 <- max(w10, w5[7])
  w11 <- range(w5)
  w12 <- known[w4[1], ]
  w13 <- sum(w12 * w2)
  w14 <- w7 == (sum(w2) > 0)
  w15 <- w15 + w14
}
