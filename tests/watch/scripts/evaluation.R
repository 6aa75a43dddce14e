x <- 0
code <- c("x <- x + 1", "y <- x * 2", "print(y)", "x")
for (line in code) eval(parse(text = line))
r <- sapply(parse(text = code[1:2]), function(e) eval(e, globalenv())); r; x
writeLines(c("x <- x + 100", "helper <- function() { x <<- x + 1; 'helped' }", "x"), "part.R")
source("part.R"); x; helper(); x
source("part.R", echo = TRUE); v <- source("part.R")$value; v
source("part.R", local = TRUE); sys.source("part.R", envir = globalenv()); x
f <- function() { x <- "local"; source("part.R", local = FALSE); x }; f(); x
try(eval(parse(text = "x <- ")))
withVisible(eval(quote(x <- 3)))
fn <- eval(parse(text = "function(a) { x <<- a; a }")); fn(5); x; fn
as.function(alist(a = , { x <<- a * 2; x }))(4); x
body(fn) <- quote({ x <<- "new body"; a }); fn(1); x; formals(fn)$a <- 9; fn(); fn
g <- function() { sys.call() }; eval(quote(g())); eval(call("g"))
Reduce(function(a, b) { x <<- a; a + b }, 1:5, accumulate = TRUE); x
Filter(function(v) { x <<- v; v > 2 }, 1:4); x; Recall
expr <- quote(x <- 77); expr[[3]] <- 78; eval(expr); x; eval(expr, new.env()); rapply(list(1, 2), function(q) q + x)
local({ x <- 5; local({ x <<- x + 1 }); print(x) }); x
