# What a function can see of itself and of its caller is what it sees without the engine.
work <- function(n) { s <- 0; for (i in 1:n) s <- s + sqrt(i); s }
look <- function(x, ..., flag = FALSE) {
  on.exit(log <<- c(log, "first"))
  on.exit(log <<- c(log, "second"), add = TRUE)
  total <- 0
  for (k in 1:40) total <- total + work(150)
  list(sys.call(), match.call(), nargs(), missing(flag), missing(x), ...length(), body(sys.function())[[2L]],
       deparse(substitute(x)), environmentName(parent.frame()), formals(sys.function())$flag, total)
}
log <- character()
seen <- look(a + b, 1, 2)
also <- (function(z) { r <- look(z * 2, flag = z > 1); z <- 0; list(r, z) })(5)
text <- deparse(look)
names_inside <- (function(p, q = 2) { for (i in 1:300) p <- p + work(3); ls() })(1)
all_inside <- (function(p, q = 2) { for (i in 1:300) p <- p + 1; ls(all.names = TRUE) })(1)
frame <- (function(p) { for (i in 1:300) p <- p + 1; as.list(environment()) })(1)
again <- work
same <- identical(again, work)
printed <- capture.output(print(work))
printed <- printed[!startsWith(printed, "<bytecode")]
default <- (function(n, m = { t <- 0; t + n }) { for (i in 1:200) n <- n + work(2); m })(5)
globals <- ls()
