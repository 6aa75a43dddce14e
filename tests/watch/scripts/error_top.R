x <- 5
for (i in 1:3) { x <- x - 2; if (x < 0) y <- sqrt("no") }
