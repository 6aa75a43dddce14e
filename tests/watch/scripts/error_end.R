x <- 1
inner <- function(a) { x <<- a; local_value <- a * 2; stop("the end at ", a, call. = TRUE) }
outer_one <- function(b) { x <<- b; inner(b + 1) }
cat("before\n")
warning("pending")
outer_one(3)
cat("never\n")
