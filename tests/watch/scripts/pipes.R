x <- c(3, 1, 2) |> sort() |> rev(); x
sq <- \(v) v^2; x |> sq() |> sum()
x <- 1:3 |> (\(v) { x <<- "inside"; v * 2 })(); x
c(1, 4) |> sapply(FUN = \(i) { n <<- i; sqrt(i) }); n
mtcars |> subset(cyl == 4, select = c(mpg, hp)) |> head(2)
quote(x |> f(y)); r"(raw\string)"; x <- 0x10L; x; 1e3L
if (TRUE) { x <- "then" } else { x <- "else" }; x
`my var` <- 5; `my var` + 1; x -> y; y; x <- y <- z <- 7; c(x, y, z)
f <- function(x) { x$a <- 1; x }; l <- list(); l <- f(l); l; l[["b"]][["c"]] <- 2; str(l); l$b$c[3] <- 9; l
NULL -> n; is.null(n); x <- if (FALSE) 1; x; Negate(is.null)(1); x <- function() NULL; x(); x
