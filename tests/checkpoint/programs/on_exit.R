# Functions that tidy up after themselves: on.exit in several orders, options put back, a lock file, early returns, Recall.
trail <- character(0)
say <- function(...) trail <<- c(trail, paste0(...))

with_digits <- function(digits, code) {
  old <- options(digits = digits)
  on.exit(options(old))
  force(code)
}

with_lock <- function(path, action) {
  stopifnot(!file.exists(path))
  file.create(path)
  on.exit(file.remove(path), add = TRUE)
  on.exit(say("unlocked ", path), add = TRUE)
  action()
}

leibniz <- function(terms) {
  on.exit(say("leibniz ", terms))
  total <- 0
  sign <- 1
  for (k in seq_len(terms)) {
    total <- total + sign / (2 * k - 1)
    sign <- -sign
  }
  4 * total
}

search <- function(limit) {
  found <- NULL
  on.exit(say("searched to ", limit))
  on.exit(say("found ", length(found)), add = TRUE, after = FALSE)
  for (a in 1:limit) {
    for (b in a:limit) {
      c <- sqrt(a * a + b * b)
      if (c > limit) break
      if (c == floor(c)) found <- rbind(found, c(a, b, c))
      if (NROW(found) >= 120) return(found)
    }
  }
  found
}

approximations <- list()
for (terms in c(10, 1000, 50000, 6000000)) {
  approximations[[as.character(terms)]] <- with_lock("busy.lock", function() leibniz(terms))
}
triples <- with_lock("busy.lock", function() search(300))
few <- search(40)
shown <- with_digits(4, format(pi * 1000))
again <- format(pi * 1000)
locked <- file.exists("busy.lock")

failing <- function(n) {
  on.exit(say("level ", n))
  if (n == 0) stop("the bottom")
  Recall(n - 1)
}
message_at_bottom <- tryCatch(failing(6), error = function(e) conditionMessage(e))

nested_sums <- sapply(1:120, function(n) {
  total <- 0
  on.exit(if (n %% 10 == 0) say("sum of ", n, " is ", total))
  for (i in 1:n) for (j in 1:n) total <- total + (i * j) %% 7
  total
})
writeLines(trail, "trail.txt")
