options(keep.source = TRUE)
f <- function(a,   b) {   # a comment that stays
  total <<- a +    b
  total   # odd   spacing
}
f
f(1,2); f(3,4); f(5,6)
attributes(f)$srcref
g <- eval(parse(text = "function(x)   {x   <-  1 # kept\n total <<- x }")); g; g(2); total
deparse(f); body(f); h <- function() sys.function(); h(); print(f, useSource = FALSE)
removeSource(f)
options(keep.source = FALSE)
k <- function(a,   b) { total <<- a +    b }
k(1, 1); k
