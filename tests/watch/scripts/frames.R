d <- data.frame(g = rep(c("a", "b"), 5), v = 1:10, stringsAsFactors = TRUE)
d$w <- d$v^2; d[d$v > 8, "w"] <- 0; d
d <- within(d, { z <- v / 2; rm(w) }); str(d)
with(d, tapply(v, g, mean))
agg <- aggregate(v ~ g, d, sum); agg
for (i in seq_len(nrow(d))) d[i, "v"] <- d[i, "v"] * 2L
summary(d); colnames(d)[2] <- "value"; head(d, 3)
m <- merge(d, data.frame(g = c("a", "b"), k = 3:4)); dim(m)
sp <- split(d$value, d$g); sp; do.call(rbind, lapply(sp, range))
fit <- lm(value ~ z, d); fit; anova(fit)
d$value <- NULL; names(d); d[["new"]] <- letters[1:10]; d[order(-seq_len(10)), ][1:2, ]
apply(as.matrix(d[, "z", drop = FALSE]), 2, sum); table(d$g, d$z > 3)
t1 <- transform(d, y = z * 3); t1$y[3]
