seen <- character()
note <- function(w) seen <<- c(seen, w)
print.account <- function(x, ...) { note("print"); cat("<account", x$balance, ">\n"); invisible(x) }
deposit <- function(x, ...) UseMethod("deposit")
deposit.default <- function(x, ...) { note("default"); stop("not an account") }
deposit.account <- function(x, amount, ...) { note("account"); x$balance <- x$balance + amount; x }
deposit.savings <- function(x, amount, ...) { note("savings"); x <- NextMethod(amount = amount * 1.1); x }
acc <- structure(list(balance = 100), class = c("savings", "account"))
acc
acc <- deposit(acc, 50)
acc
"+.account" <- function(e1, e2) { note("plus"); e1$balance <- e1$balance + e2; e1 }
acc <- acc + 5
acc$balance <- 7; acc
"$<-.guarded" <- function(x, name, value) { note(paste("set", name)); y <- unclass(x); y[[name]] <- value; structure(y, class = "guarded") }
g <- structure(list(), class = "guarded"); g$a <- 1; g$b <- 2
"[<-.guarded" <- function(x, i, value) { note("bracket"); x }
g[1] <- 3
length.account <- function(x) 99L
length(acc)
summary(acc)
format(structure(1.5, class = "odd")); seen
tryCatch(deposit(3), error = function(e) print(e))
inherits(acc, "savings", which = TRUE)
