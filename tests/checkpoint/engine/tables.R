# Tables of data.table, which are changed where they are: whoever else has them sees it, in the process that goes on, too.
library(data.table)
spend <- function(n) {
  total <- 0
  for (i in seq_len(n)) total <- total + sum(sqrt(seq_len(i %% 50)))
  total
}
table <- data.table(a = 1:6, b = rep(c("x", "y"), 3))
setkey(table, b)
shelf <- list(one = table, place = new.env())
shelf$place$table <- table
add <- function(t, name, by) {
  work <<- work + spend(200)
  t[, (name) := a * by]
  invisible(NULL)
}
# A copy that R made has the pointer of the first, and is none the less another table.
other <- table
attr(other, "note") <- "another"
work <- 0
for (k in 1:8) add(table, paste0("c", k), k)
work <- work + spend(1000)
set(table, j = "z", value = 0L)
work <- work + spend(1000)
table[b == "x", z := 1L]
seen <- list(names(table), names(shelf$one), names(shelf$place$table), shelf$one$z, key(shelf$place$table), length(other), attr(table, "note"))
sums <- table[, lapply(.SD, sum), by = b]
sums <- as.data.frame(sums)
rm(table, shelf, other)
