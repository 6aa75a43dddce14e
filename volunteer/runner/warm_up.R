# Run once in the zygote, so that no job pays for it: loads the compiler, compiles every language construct, and loads what
# nearly every script uses.

# As in Rscript.
options(keep.source = FALSE)
suppressWarnings(local({
  compiler <- asNamespace("compiler")
  for (name in ls(compiler, all.names = TRUE)) force(get(name, compiler))
  every <- function(x, ...) {
    s <- 0
    for (i in 1:3) {
      s <- s + i
      x[i] <- s
      x[[1]] <- 2
      if (i > 2 && s < 1 || !TRUE) next else s <- -s
    }
    x$a <- 1
    names(x) <- letters[seq_along(x)]
    while (TRUE) break
    repeat break
    y <- switch("a", a = 1, 2)
    f <- function(z) z^2 / 3 - 1
    g <- sapply(1:3, function(k) k + f(k))
    z <- tryCatch(stop("x"), error = function(e) conditionMessage(e), finally = NULL)
    m <- matrix(1:4, 2)
    m[1, 2] <- 5L
    list(a = 1, ...)
    local({
      w <- 1
      w
    })
    invisible(g)
  }
  every <- compiler::cmpfun(every)
  every(list(1, 2, 3))
  loop <- function(n) {
    s <- 0
    for (i in seq_len(n)) s <- s + i
    s
  }
  for (k in 1:3) loop(10)
  frame <- data.frame(a = 1:6, b = c(2, 4, 5, 4, 5, 7), c = letters[1:6])
  fit <- lm(b ~ a, frame)
  text <- utils::capture.output(print(summary(fit)), print(frame), print(1:10), str(frame))
  sprintf("%s %d", "a", 1L)
  paste0("a", 1:3)
  aggregate(b ~ c, frame, mean)
  apply(matrix(1:4, 2), 1, sum)
  do.call(rbind, lapply(1:3, function(i) data.frame(i = i)))
  format(Sys.time())
  unserialize(serialize(frame, NULL))
}))
rm(list = ls(globalenv(), all.names = TRUE), envir = globalenv())
# RInside starts with a heap five times as large as R's default, and a heap cannot be limited to less than its size; each
# collection shrinks it by a fifth.
for (collection in 1:9) gc()
rm(collection)
