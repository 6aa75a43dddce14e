# S3, S4 and reference classes, closures with state, environments that are shared.
slow <- function(n) { s <- 0; for (i in 1:n) s <- s + i %% 7; s }
area <- function(x, ...) UseMethod("area")
area.default <- function(x, ...) { for (i in 1:5) slow(100); "default" }
area.square <- function(x, scale = 1, ...) { t <- 0; for (i in 1:8) t <- t + slow(100); c(x$side^2 * scale, t, NextMethod()) }
s3 <- area(structure(list(side = 3), class = c("square", "shape")), scale = 2)
print.shape <- function(x, ...) { for (i in 1:5) slow(100); cat("<shape>\n"); invisible(x) }
print(structure(list(), class = "shape"))
"+.money" <- function(e1, e2) { for (i in 1:5) slow(80); structure(list(v = e1$v + e2$v), class = "money") }
purse <- structure(list(v = 1), class = "money"); for (k in 1:4) purse <- purse + structure(list(v = k), class = "money")
setClass("Base", representation(n = "numeric")); setClass("Derived", contains = "Base", representation(m = "numeric"))
setGeneric("run", function(object, ...) standardGeneric("run"))
setMethod("run", "Base", function(object, ...) { t <- object@n; for (i in 1:8) t <- t + slow(100); t })
setMethod("run", "Derived", function(object, times = 3, ...) { t <- 0; for (i in 1:times) t <- t + slow(90); t + callNextMethod() + object@m })
s4 <- c(run(new("Base", n = 1)), run(new("Derived", n = 2, m = 5), times = 6))
Counter <- setRefClass("Counter", fields = list(n = "numeric", log = "character"), methods = list(
  bump = function(k) { for (i in 1:k) { n <<- n + slow(60) }; log <<- c(log, paste("bump", k)); invisible(.self) },
  twice = function(k) { bump(k); bump(k); n }))
Loud <- setRefClass("Loud", contains = "Counter", methods = list(bump = function(k) { callSuper(k); log <<- c(log, "loud"); invisible(.self) }))
one <- Counter$new(n = 0); two <- one; r5 <- one$twice(9); shared <- identical(one, two); loud <- Loud$new(n = 1); loud$bump(12)
r5_values <- list(one$n, two$n, one$log, loud$n, loud$log)
make <- function() { total <- 0; list(add = function(v) { for (i in 1:6) total <<- total + slow(50) * v; total }, get = function() total) }
acc <- make(); other <- acc; for (k in 1:5) acc$add(k); closure <- c(other$get(), acc$get())
node <- new.env(); node$self <- node; node$kids <- list(new.env()); node$kids[[1]]$up <- node
for (k in 1:20) { node$kids[[1]]$up$count <- c(node$count, 0)[1] + slow(k); }
cycle <- identical(node$self$kids[[1]]$up, node); counted <- node$count
rm(one, two, loud, Counter, Loud, node, make, acc, other)

# A class is asked for its length once.
asked <- 0
length.stack <- function(x) {
  asked <<- asked + 1
  30L
}
over_stack <- function(x) {
  s <- 0
  for (i in seq_along(x)) s <- s + i
  s
}
stacked <- over_stack(structure(list(), class = "stack"))
