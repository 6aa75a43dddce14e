# Sorts the same numbers in five ways written by hand and counts the comparisons of each.
set.seed(1945)
comparisons <- 0
less <- function(a, b) {
  comparisons <<- comparisons + 1
  a < b
}

bubble <- function(v) {
  n <- length(v)
  repeat {
    swapped <- FALSE
    for (i in seq_len(n - 1)) {
      if (less(v[i + 1], v[i])) {
        v[c(i, i + 1)] <- v[c(i + 1, i)]
        swapped <- TRUE
      }
    }
    if (!swapped) return(v)
    n <- n - 1
  }
}
merge_sort <- function(v) {
  if (length(v) < 2) return(v)
  half <- length(v) %/% 2
  a <- merge_sort(v[1:half])
  b <- merge_sort(v[(half + 1):length(v)])
  out <- v
  i <- j <- 1
  for (k in seq_along(out)) {
    if (j > length(b) || (i <= length(a) && !less(b[j], a[i]))) {
      out[k] <- a[i]
      i <- i + 1
    } else {
      out[k] <- b[j]
      j <- j + 1
    }
  }
  out
}
quick <- function(v) if (length(v) < 2) v else {
  low <- vapply(v[-1], less, NA, v[1])
  c(Recall(v[-1][low]), v[1], Recall(v[-1][!low]))
}
tree <- function(v) {
  insert <- function(node, x) {
    if (is.null(node)) return(list(x = x, l = NULL, r = NULL))
    if (less(x, node$x)) node["l"] <- list(insert(node$l, x)) else node["r"] <- list(insert(node$r, x))
    node
  }
  flatten <- function(node) if (!is.null(node)) c(flatten(node$l), node$x, flatten(node$r))
  flatten(Reduce(insert, v, NULL))
}
radix <- function(v) {
  for (digit in 10^(0:3)) v <- unlist(split(v, factor(v %/% digit %% 10, 0:9)), use.names = FALSE)
  v
}

ways <- list(bubble = bubble, merge = merge_sort,
             quick = quick, tree = tree, radix = radix)
effort <- list()
right <- c()
for (size in c(60, 200, 400)) {
  numbers <- sample.int(9999, size)
  for (name in names(ways)) {
    comparisons <- 0
    right[paste(name, size)] <- identical(ways[[name]](numbers), sort(numbers))
    effort[[name]] <- c(effort[[name]], comparisons)
  }
}
