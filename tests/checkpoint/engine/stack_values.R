# The first of two values waits while a call for the second is under way.
fib <- function(n) if (n < 2) n else fib(n - 1) + fib(n - 2)
fact <- function(n) if (n <= 1L) 1 else n * fact(n - 1L)
three <- function(n) if (n < 3L) n else three(n - 1L) + three(n - 2L) + three(n - 3L)
other_way <- function(n) if (n < 3L) n else three(n - 1L) - (other_way(n - 2L) - other_way(n - 3L))
vectors <- function(n) if (n < 2L) c(a = 1, b = 2) else vectors(n - 1L) + 2 * vectors(n - 2L)
names_of <- function(n) if (n == 0L) "x" else paste0(names_of(n - 1L), n)
alike <- function(n) if (n == 0L) TRUE else (names_of(n) == names_of(n)) & alike(n - 1L)
either <- function(n) if (n == 0L) NA else (n > 5L) | either(n - 1L)

drawn <- function(n) if (n == 0L) 0 else runif(1) + drawn(n - 1L)
told <- character()
say <- function(x) {
  told <<- c(told, format(x))
  x
}
in_turn <- function(n) if (n == 0L) 0 else say(n) ^ 2 - in_turn(n - 1L)

size <- function(x) UseMethod("size")
size.leaf <- function(x) x$value
size.node <- function(x) size(x$left) + size(x$right)
grow <- function(depth) {
  if (depth == 0L) structure(list(value = depth + 1), class = "leaf") else
    structure(list(left = grow(depth - 1L), right = grow(depth - 1L)), class = "node")
}
setGeneric("weight", function(x) standardGeneric("weight"))
setClass("Piece", slots = c(left = "ANY", right = "ANY"))
setMethod("weight", "numeric", function(x) x)
setMethod("weight", "Piece", function(x) weight(x@left) + weight(x@right))
pieces <- function(depth) if (depth == 0L) 1.5 else new("Piece", left = pieces(depth - 1L), right = pieces(depth - 1L))

guarded <- function(n) tryCatch(if (n < 2) n else guarded(n - 1) + guarded(n - 2), error = function(e) -1)
in_loop <- function(n) {
  total <- 0
  for (i in seq_len(n)) {
    for (part in list(1, 2L, TRUE)) total <- total + (say(part) + fib(i))
    k <- 0
    while (k < 2) k <- k + (drawn(1L) * 0 + fact(1L))
  }
  total
}
money <- function(x) structure(x, class = "money")
Ops.money <- function(e1, e2) money(get(.Generic)(unclass(e1), unclass(e2)) + fib(5) + nargs() + length(match.call()))
purse <- function(n) if (n < 2L) money(n) else purse(n - 1L) + purse(n - 2L)
own_call <- function(n) if (n < 2L) deparse(sys.call()) == deparse(match.call()) else own_call(n - 1L) + own_call(n - 2L)
failing <- function(n) if (n == 0L) "no number" else failing(n - 1L)
failed <- tryCatch(fib(4) + failing(5L), error = conditionMessage)

set.seed(4)
results <- list(fib(15), fact(20L), three(9L), other_way(9L), vectors(9L), alike(6L), either(9L), drawn(30L), in_turn(20L),
                size(grow(6L)), weight(pieces(5L)), guarded(9), in_loop(5L), purse(9L), own_call(8L))
at_top <- fib(12) + fib(13)
twice <- (fib(10) + fib(11)) * (fib(11) - fib(9))
