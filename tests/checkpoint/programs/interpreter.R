# Interprets two small languages: a register machine with jumps (repeat, switch, break, next) and arithmetic by descent.
run_machine <- function(program, registers, fuel = 200000) {
  at <- 1
  output <- c()
  repeat {
    if (at > length(program) || fuel == 0) break
    fuel <- fuel - 1
    step <- program[[at]]
    at <- at + 1
    switch(step[[1]],
      set = registers[[step[[2]]]] <- step[[3]],
      copy = registers[[step[[2]]]] <- registers[[step[[3]]]],
      add = registers[[step[[2]]]] <- registers[[step[[2]]]] + registers[[step[[3]]]],
      mod = registers[[step[[2]]]] <- registers[[step[[2]]]] %% registers[[step[[3]]]],
      less = if (registers[[step[[2]]]] < registers[[step[[3]]]]) next else at <- step[[4]],
      unless_zero = {
        if (registers[[step[[2]]]] == 0) next
        at <- step[[3]]
      },
      jump = at <- step[[2]],
      print = output <- c(output, registers[[step[[2]]]]),
      stop = break,
      stop("unknown instruction ", step[[1]])
    )
  }
  list(output = output, registers = registers, fuel = fuel)
}

primes_program <- list(
  list("set", "n", 2), list("set", "d", 2),
  list("less", "d", "n", 9),
  list("copy", "r", "n"), list("mod", "r", "d"), list("unless_zero", "r", 8),
  list("jump", 10),
  list("jump", 12),
  list("print", "n"),
  list("add", "n", "one"), list("jump", 2),
  list("add", "d", "one"), list("jump", 3)
)
machine <- run_machine(primes_program, list(n = 0, d = 0, r = 0, one = 1))

tokenize <- function(text) regmatches(text, gregexpr("[0-9.]+|[-+*/^()]|[a-z]+", text))[[1]]
evaluate <- function(text, variables = list()) {
  tokens <- tokenize(text)
  position <- 1
  peek <- function() if (position <= length(tokens)) tokens[position] else ""
  take <- function() {
    token <- peek()
    position <<- position + 1
    token
  }
  sum_of <- function() {
    value <- product()
    while (peek() %in% c("+", "-")) value <- if (take() == "+") value + product() else value - product()
    value
  }
  product <- function() {
    value <- power()
    while (peek() %in% c("*", "/")) value <- if (take() == "*") value * power() else value / power()
    value
  }
  power <- function() {
    base <- atom()
    if (peek() == "^") {
      take()
      base^power()
    } else base
  }
  atom <- function() {
    token <- take()
    if (token == "(") {
      value <- sum_of()
      take()
      value
    } else if (token == "-") -atom() else if (grepl("^[a-z]", token)) variables[[token]] else as.numeric(token)
  }
  sum_of()
}
curve <- vapply(1:1000, function(k) evaluate("2*x^2 - (x + 1) * 3 / (k + 1) + -x ^ 2", list(x = k / 10, k = k)), 0)
checks <- c(evaluate("2 ^ 3 ^ 2"), evaluate("(1 + 2) * 3 - 4 / 5"), evaluate("((((7))))"))
