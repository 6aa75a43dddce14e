# Arguments are evaluated when they would be, as often as they would be, in the same order.
set.seed(1)
trace_of <- character()
work <- function(tag, n = 150) { trace_of <<- c(trace_of, tag); s <- 0; for (i in 1:n) s <- s + runif(1); s }
never <- function(a, b) { if (a) b else 0 }
r1 <- never(FALSE, work("never"))
r2 <- never(TRUE, work("late"))
order_of <- function(a, b) { x <- b; y <- a; c(x, y) }
r3 <- order_of(work("a"), work("b"))
r4 <- c(work("1"), work("2"), length(trace_of), work("3"))
grow <- c(0)
push <- function(v) { for (i in 1:200) v <- v + 1; grow <<- c(grow, v); v }
r5 <- c(grow, push(1), grow, push(2))
r6 <- work("x") > 0 && work("y") > 1e9 && work("z") > 0
r7 <- work("x") < 0 || work("y") > 0
r8 <- tryCatch(NA && work("na") > 0, error = function(e) "error")
twice <- function(a) { for (i in 1:50) a <- a + work("in", 20); a + a }
r9 <- twice(work("once"))
pass <- function(...) { s <- 0; for (v in list(...)) s <- s + v; s + ..1 }
r10 <- pass(work("d1"), work("d2"))
r11 <- if (work("if") > 0) work("then") else work("else")
r12 <- switch("b", a = work("a"), b = , c = { work("c1"); work("c2") }, work("default"))
forced <- function(p) { delayed <- function() p; for (i in 1:200) i; delayed() }
r13 <- forced(work("captured"))
r14 <- vapply(list(1, 2), function(k) work("v", 10) * k, 0) + work("after")
r15 <- paste0("n", round(work("paste")), "-", length(trace_of))
r16 <- list(a = work("l"), b = runif(1))$b
last <- runif(1)
