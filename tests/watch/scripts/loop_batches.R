# Loops that assign in each iteration, long enough to be cut: what they leave, print, warn and fail with.
x <- numeric(1000)
for (i in 1:5000) x[(i * 7) %% 1000 + 1] <- x[i %% 1000 + 1] + i
print(sum(x)); print(i)
y <- list()
for (name in rep(c("a", "b", "c"), 40)) y[[name]] <- c(y[[name]], name)
print(lengths(y)); print(name)
for (f in factor(rep(c("u", "v"), 50))) z <- f
print(z)
for (day in as.Date("2024-02-27") + 0:99) w <- day
print(w)
for (one in as.list(1:100)) { p <- one; q <- if (p > 50) p * 2 else NULL }
print(p); print(q)
for (k in integer()) v <- k
print(k); print(exists("v"))
for (k in seq(0.5, 100, by = 0.5)) v <- k
print(v)
n <- 0
for (a in 1:100) for (b in 1:100) n <- n + a * b
print(n)
x <- 1:200
for (i in x) x[201 - i] <- -i
print(sum(x))
m <- matrix(0, 20, 20)
for (i in 1:400) m[i] <- i
print(sum(m[3, ]))
result <- tryCatch({ for (i in 1:1000) { x[i %% 50 + 1] <- 1L; h <- 10 / (if (i == 700) "no" else i) }; "whole" }, error = function(e) conditionMessage(e))
print(result); print(i)
print(tryCatch({ for (i in quote(nothing)) u <- i }, error = function(e) deparse(conditionCall(e))))
withCallingHandlers(
  for (i in 1:300) { s <- as.integer(if (i == 99) "text" else "1") },
  warning = function(w) { print(conditionMessage(w)); print(conditionCall(w)); invokeRestart("muffleWarning") }
)
total <- 0
value <- for (i in 1:500) total <- total + i
print(value)
for (i in 1:500) total <- total + i
`+` <- function(a, b) { print("mine"); base::`+`(a, b) }
for (i in 1:70) if (i > 68) t <- i + 1
for (i in 69:70) t <- i + 1
rm(`+`)
