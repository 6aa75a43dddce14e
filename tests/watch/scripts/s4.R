setClass("Shape", representation("VIRTUAL", name = "character"))
setClass("Circle", contains = "Shape", representation(r = "numeric"), prototype(name = "circle"))
setClass("Square", contains = "Shape", representation(s = "numeric"), validity = function(object) if (length(object@s) == 1 && object@s < 0) "negative" else TRUE)
calls <- 0
setGeneric("area", function(shape, ...) standardGeneric("area"))
setMethod("area", "Circle", function(shape, ...) { calls <<- calls + 1; pi * shape@r^2 })
setMethod("area", "Square", function(shape, ...) { calls <<- calls + 1; shape@s^2 })
setMethod("show", "Shape", function(object) { calls <<- calls + 1; cat("<", object@name, ">\n") })
c1 <- new("Circle", r = 2); s1 <- new("Square", name = "sq", s = 3)
c1; s1
c1@r <- 5; area(c1); sapply(list(c1, s1), area)
try(new("Square", name = "bad", s = -1))
setMethod("+", signature("Square", "Square"), function(e1, e2) { calls <<- calls + 1; new("Square", name = "sum", s = e1@s + e2@s) })
t1 <- s1 + s1; t1@s
setMethod("initialize", "Circle", function(.Object, ...) { .Object <- callNextMethod(.Object, ...); calls <<- calls + 1; .Object })
c2 <- new("Circle", r = 1); isVirtualClass("Shape"); is(c2, "Shape"); calls
setReplaceMethod("names", "Shape", function(x, value) { x@name <- value; x }); names(c2) <- "renamed"; c2
identical(c1, c1); existsMethod("area", "Circle")
