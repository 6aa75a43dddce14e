# Calls that take their time within arithmetic, comparisons, conditions and subscripts.
order <- character()
slow <- function(x) { order <<- c(order, paste("slow", x)); for (k in 1:25) x <- x + sin(k) / 100 + nchar(paste(k)); x }
three <- slow(1) + slow(2) * slow(3) - (slow(4) + 1)
signs <- c(-slow(2), !slow(1), +slow(0))
compared <- slow(1) < slow(2) || slow(3) == slow(3)
gathered <- c(slow(1), 7, slow(2), max(slow(1), 2, slow(3)), length(list(slow(1), slow(2))))
pair <- function(x) { y <- slow(x); list(first = x, second = y, both = c(x, y)) }
taken <- pair(3)$second + pair(4)[["first"]] * pair(5)$both[2] - pair(6)[[3]][slow(0) > 0]
both <- slow(1) > 0 && slow(2) > 0
chosen <- if (slow(1) + slow(2) > 5) slow(3) - slow(4) else slow(5)
kind <- function(n) { slow(n); c("a", "b")[n] }
switched <- switch(kind(2), a = slow(1), b = slow(2) + slow(3), stop("never"))
count <- 0
while (slow(count) - slow(0) < 6) count <- count + 1

# What is evaluated before the last call is what it was before.
x <- 10
changes <- function() { x <<- x + 1; slow(x) }
kept <- x + changes() + x * changes() - x
local_kept <- (function(n) { total <- n; add <- function(by) { total <<- total + by; slow(by) }; total * add(2) + total * add(3) + total })(5)

# Classes decide what an operator does.
money <- function(x) structure(list(amount = slow(x)), class = "money")
Ops.money <- function(e1, e2) {
  order <<- c(order, .Generic)
  value <- get(.Generic)(unclass(e1)$amount, slow(unclass(e2)$amount))
  if (.Generic %in% c("+", "-")) structure(list(amount = value), class = "money") else value
}
"$.ledger" <- function(x, name) { slow(1); paste("entry", name) }
"[.ledger" <- function(x, i) { slow(2); paste("row", i) }
sum_of_money <- unclass(money(1) + money(2) - money(3))
richer <- money(4) > money(slow(1) - slow(0))
ledger <- structure(list(), class = "ledger")
entries <- c(ledger$rent, ledger[slow(1) - slow(0) + 2], paste0(ledger$food, slow(3)))

fib <- function(n) if (n < 2) n else fib(n - 1) + fib(n - 2)
fibs <- c(fib(9), fib(6) * fib(5) - fib(4))
ackermann <- function(m, n) if (m == 0) n + 1 else if (n == 0) ackermann(m - 1, 1) else ackermann(m - 1, ackermann(m, n - 1))
ack <- ackermann(2, 2)
hidden <- (function() { a <- slow(1) + slow(2); sort(ls()) })()
bounds <- suppressWarnings((function(n) { s <- 0; for (i in 1:n) s <- s + i; s })(c(200, 5)))
