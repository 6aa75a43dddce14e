counter <- function(start) { n <- start; list(up = function() { n <<- n + 1; invisible(n) }, get = function() n) }
n <- "global n"
a <- counter(1); b <- counter(10)
for (i in 1:5) { a$up(); b$up(); b$up() }
cat(a$get(), b$get(), n, "\n")
adders <- lapply(1:3, function(i) function(x) x + i)
total <- 0
for (f in adders) total <- total + f(10)
total
compose <- function(f, g) function(x) g(f(x))
h <- compose(function(x) { total <<- total + x; x * 2 }, sqrt)
h(8); total
memo <- local({ cache <- c(1, 1); function(k) { if (k > length(cache)) cache[k] <<- memo(k - 1) + memo(k - 2); cache[k] } })
memo(30)
fib <- function(n) if (n < 2) n else fib(n - 1) + fib(n - 2)
total <- fib(15); total
makeAcc <- function() { total <- 0; function(v) { total <<- total + v; total } }
acc <- makeAcc(); sapply(1:5, acc); total
print(environmentName(environment(fib)))
