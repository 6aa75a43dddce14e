# Loops of every kind, left and skipped at every depth.
log <- character()
note <- function(...) log <<- c(log, paste(...))
slow <- function(x) { for (k in 1:30) x <- x + sin(k); x }
for (i in 1:4) { for (j in 1:5) { if (j == 2) next; if (i == 3 && j == 4) break; note(i, j, round(slow(i), 3)) } }
for (w in c("x", "y", "z")) { if (w == "y") next; note(w, slow(1) > 0) }
for (f in factor(c("b", "a", "b"))) note(f, slow(0) < 9)
for (d in as.Date("2024-01-01") + 0:2) note(d, class(d), slow(1) > 0)
for (e in list(a = 1, b = "two", c = NULL, d = list(3))) note(class(e), slow(1) > 0)
for (n in NULL) note("never", slow(1))
empty <- 5; for (empty in integer(0)) slow(empty)
k <- 0; while ({ k <- k + 1; slow(k) > -1 && k < 30 }) { if (k %% 3 == 0) next; if (k > 25) break; note("w", k) }
k <- 0; repeat { k <- k + 1; if (k %% 2 == 0) next; slow(k); if (k > 21) break }
v <- 1:6; for (x in v) { v[x] <- 100L; slow(x); note("v", x, sum(v)) }
for (i in 1:3) { i <- i * 10; slow(i); note("i", i) }
long <- 0; for (i in 1:5000) { if (i %% 7 == 0) next; if (i > 4321) break; long <- long + i }
over_list <- 0; for (x in as.list(1:700)) over_list <- over_list + x
down <- 0; for (i in 900:1) { down <- down * 0.5 + i }
tight <- 0; while (tight < 5000) { tight <- tight + 1; if (tight == 4000) break }
tight2 <- 0; repeat { tight2 <- tight2 + 2; if (tight2 %% 3) next; if (tight2 > 3000) break }
value <- for (i in 1:300) i
m <- matrix(0, 40, 40); for (i in 1:40) for (j in 1:40) { if (j > i) break; m[i, j] <- i * j }
caught <- 0; for (i in 1:60) { tryCatch({ if (i %% 5 == 0) next; if (i == 47) break; slow(i); caught <- caught + i }, error = identity) }
found <- (function(n) { for (i in 1:n) for (j in 1:n) if (slow(i * j) > 30 && i * j == 42) return(c(i, j)); NULL })(50)
nested <- sapply(1:6, function(a) { t <- 0; for (b in 1:a) { t <- t + slow(b); if (t > 50) break }; t })
seqs <- c(); for (s in seq(0.5, 3, by = 0.5)) { seqs <- c(seqs, slow(s)) }
