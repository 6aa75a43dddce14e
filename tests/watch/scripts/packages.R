library(stats4); library(splines)
count <- 0
ll <- function(mu = 1) { count <<- count + 1; -sum(dnorm(c(1.2, 0.8, 1.1), mu, 1, log = TRUE)) }
fit <- mle(ll); round(coef(fit), 4); count > 0
b <- bs(1:5, df = 4); dim(b); suppressPackageStartupMessages(library(parallel)); r <- unlist(mclapply(1:4, function(i) { count <<- i; i^2 }, mc.cores = 2)); r; count > 4
requireNamespace("tools"); tools::toTitleCase("a tale"); utils::head(letters, 2); x <- stats::median(c(3, 1, 2)); x
f <- function() { x <<- x + 1; invisible(NULL) }; invisible(lapply(1:10, function(i) f())); x
Vectorize(function(a, b) { x <<- a; a + b })(1:3, 2); x; nls_ok <- tryCatch({ nls(y ~ a * z, data.frame(y = c(2.1, 3.9, 6.2), z = 1:3), start = list(a = 1)); TRUE }, error = function(e) FALSE); nls_ok
search()[1]; "package:splines" %in% search(); detach("package:splines"); is.function(try(bs, silent = TRUE)); methods::is(fit); ls(pattern = "^f")
