# Recursion in many shapes: towers of Hanoi, quicksort, permutations, Ackermann, memoised Fibonacci, Collatz, power set.
set.seed(5)
moves <- 0
pegs <- list(a = 11:1, b = integer(0), c = integer(0))
hanoi <- function(n, from, to, by) {
  if (n == 0) return(invisible(NULL))
  hanoi(n - 1, from, by, to)
  disc <- pegs[[from]][length(pegs[[from]])]
  pegs[[from]] <<- pegs[[from]][-length(pegs[[from]])]
  pegs[[to]] <<- c(pegs[[to]], disc)
  moves <<- moves + 1
  hanoi(n - 1, by, to, from)
}
hanoi(11, "a", "c", "b")

quicksort <- function(v) {
  if (length(v) <= 1) return(v)
  pivot <- v[1]
  rest <- v[-1]
  c(quicksort(rest[rest < pivot]), pivot, quicksort(rest[rest >= pivot]))
}
shuffled <- sample(25000)
sorted <- quicksort(shuffled)

permutations <- function(v) {
  if (length(v) == 1) return(list(v))
  out <- list()
  for (i in seq_along(v)) {
    for (tail in permutations(v[-i])) out[[length(out) + 1]] <- c(v[i], tail)
  }
  out
}
orders <- permutations(c("r", "e", "m", "o", "t", "i"))
derangements <- sum(sapply(permutations(1:7), function(p) all(p != 1:7)))

ackermann <- function(m, n) {
  if (m == 0) n + 1 else if (n == 0) ackermann(m - 1, 1) else ackermann(m - 1, ackermann(m, n - 1))
}
ack <- outer(0:2, 0:6, Vectorize(ackermann))

cache <- new.env()
fibonacci <- function(n) {
  key <- as.character(n)
  if (!is.null(cache[[key]])) return(cache[[key]])
  value <- if (n < 2) n else fibonacci(n - 1) + fibonacci(n - 2)
  assign(key, value, envir = cache)
  value
}
fibs <- sapply(as.numeric(0:80), fibonacci)

slow_fibonacci <- function(n) if (n < 2) n else Recall(n - 1) + Recall(n - 2)
slow <- slow_fibonacci(20)

even <- function(n) if (n == 0) TRUE else odd(n - 1)
odd <- function(n) if (n == 0) FALSE else even(n - 1)
parities <- vapply(c(10, 101, 250), even, NA)

subsets <- function(set) if (length(set) == 0) list(set) else {
  rest <- subsets(set[-1])
  c(rest, lapply(rest, function(s) c(set[1], s)))
}
sums <- sort(table(sapply(subsets(c(1, 2, 4, 7, 11, 16, 22, 29)), sum)), decreasing = TRUE)[1:5]
