.hidden <- 1; .hidden <- .hidden + 1; .hidden
x <- y <- 0; swap <- function() { t <- x; x <<- y; y <<- t }; x <- 1; swap(); c(x, y)
`odd name` <- 3; `odd name` <- `odd name` * 2; `odd name`
T1 <- TRUE; F1 <- !T1; state <- list(on = T1); state$on <- F1; state[["n"]] <- 3; state
state$deep$er$est <- "x"; str(state); state$deep <- NULL; names(state)
arr <- array(0, c(2, 2, 2)); arr[1, 2, 1] <- 5; arr[, , 1]; dimnames(arr) <- list(c("a", "b"), NULL, NULL); arr["a", 2, 1]
fac <- factor(c("lo", "hi", "lo"), levels = c("lo", "hi")); levels(fac)[2] <- "HIGH"; fac; fac[2] <- "lo"; fac; try(fac[1] <- "new"); fac
d <- as.Date("2024-01-31"); d <- d + 1; d; format(d, "%d.%m."); attr(x, "unit") <- "cm"; x; attributes(x) <- NULL; x
is.na(x) <- 1; x; body(swap)[[2]]; mode(x) <- "character"; x; storage.mode(y) <- "integer"; typeof(y); units <- 5; diag(m <- matrix(0, 2, 2)) <- 1; m
substr(s <- "hello", 1, 1) <- "J"; s; regmatches(s, regexpr("l", s)) <- "L"; s; Encoding(s) <- "UTF-8"; s; class(x) <- "thing"; unclass(x); oldClass(x)
