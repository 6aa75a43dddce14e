# Closures with state: counters, a queue, a stack machine, a generator of primes, a bank of filters, memoisation.
make_counter <- function(start = 0, by = 1) {
  value <- start
  list(up = function() value <<- value + by, down = function() value <<- value - by, get = function() value)
}
a <- make_counter()
b <- make_counter(100, 5)
for (i in 1:60000) {
  a$up()
  if (i %% 3 == 0) b$down() else if (i %% 7 == 0) b$up()
}

make_queue <- function() {
  items <- list()
  push <- function(x) items[[length(items) + 1]] <<- x
  pop <- function() {
    first <- items[[1]]
    items[[1]] <<- NULL
    first
  }
  environment()
}
queue <- make_queue()
served <- 0
for (round in 1:900) {
  queue$push(round)
  if (round %% 4 != 0) served <- served + queue$pop()
}
waiting <- length(queue$items)

next_prime <- local({
  known <- c(2)
  last <- 1
  function() {
    repeat {
      last <<- last + 1
      divisors <- known[known <= sqrt(last)]
      if (all(last %% divisors != 0)) {
        if (last > 2) known <<- c(known, last)
        return(last)
      }
    }
  }
})
primes <- vapply(1:1200, function(i) next_prime(), 0)

machine <- function() {
  stack <- numeric(0)
  pop <- function() {
    top <- stack[length(stack)]
    stack <<- stack[-length(stack)]
    top
  }
  operators <- lapply(list("+" = `+`, "-" = `-`, "*" = `*`, "/" = `/`, "^" = `^`), function(f) function() {
    right <- pop()
    stack <<- c(stack, f(pop(), right))
  })
  function(program) {
    for (word in strsplit(program, " ")[[1]]) {
      if (word %in% names(operators)) operators[[word]]() else stack <<- c(stack, as.numeric(word))
    }
    pop()
  }
}
calculate <- machine()
answers <- sapply(1:1500, function(k) calculate(paste(k, "4 2 * 1 5 - 2 3 ^ ^ / +")))

memoise <- function(f) {
  seen <- list()
  hits <- 0
  function(x) {
    key <- as.character(x)
    if (is.null(seen[[key]])) return(seen[[key]] <<- f(x))
    hits <<- hits + 1
    seen[[key]]
  }
}
collatz <- memoise(function(n) if (n == 1) 0 else 1 + collatz(if (n %% 2 == 0) n / 2 else 3 * n + 1))
lengths_found <- sapply(1:300, collatz)
hits <- environment(collatz)$hits
