# Shapes in S4: classes with validity, generics with several dispatch arguments, callNextMethod, show, operators.
set.seed(17)
setClass("Shape", representation("VIRTUAL", name = "character"))
setClass("Circle", contains = "Shape", representation(r = "numeric"), validity = function(object) {
  if (length(object@r) != 1 || object@r <= 0) "the radius must be one positive number" else TRUE
})
setClass("Box", contains = "Shape", representation(w = "numeric", h = "numeric"), prototype(name = "box"))
setClass("Square", contains = "Box", validity = function(object) if (object@w != object@h) "sides differ" else TRUE)
setClass("Polygon", contains = "Shape", representation(points = "matrix"))

setGeneric("area", function(shape, ...) standardGeneric("area"))
setMethod("area", "Circle", function(shape, ...) pi * shape@r^2)
setMethod("area", "Box", function(shape, ...) shape@w * shape@h)
setMethod("area", "Polygon", function(shape, ...) {
  p <- shape@points
  total <- 0
  for (i in seq_len(nrow(p))) {
    j <- i %% nrow(p) + 1
    total <- total + p[i, 1] * p[j, 2] - p[j, 1] * p[i, 2]
  }
  abs(total) / 2
})
setGeneric("describe", function(shape) standardGeneric("describe"))
setMethod("describe", "Shape", function(shape) sprintf("%s with area %.3f", shape@name, area(shape)))
setMethod("describe", "Box", function(shape) paste0("[", callNextMethod(), "]"))
setMethod("describe", "Square", function(shape) paste("square", callNextMethod()))
setGeneric("fits", function(inner, outer) standardGeneric("fits"))
setMethod("fits", signature("Circle", "Box"), function(inner, outer) 2 * inner@r <= min(outer@w, outer@h))
setMethod("fits", signature("Box", "Circle"), function(inner, outer) sqrt(inner@w^2 + inner@h^2) <= 2 * outer@r)
setMethod("fits", signature("ANY", "ANY"), function(inner, outer) area(inner) < area(outer))
setMethod("initialize", "Polygon", function(.Object, ..., corners = 3) {
  .Object <- callNextMethod(.Object, ...)
  angle <- seq(0, 2 * pi, length.out = corners + 1)[-1]
  .Object@points <- cbind(cos(angle), sin(angle)) * runif(corners, 0.5, 2)
  .Object
})
setMethod("+", signature("Box", "Box"), function(e1, e2) new("Box", name = "sum", w = e1@w + e2@w, h = max(e1@h, e2@h)))
setMethod("length", "Polygon", function(x) nrow(x@points))

make <- function(i) {
  switch(sample(4, 1),
    new("Circle", name = paste0("c", i), r = runif(1, 0.2, 2)),
    new("Box", name = paste0("b", i), w = runif(1, 0.5, 3), h = runif(1, 0.5, 3)),
    { s <- runif(1, 0.5, 3); new("Square", name = paste0("s", i), w = s, h = s) },
    new("Polygon", name = paste0("p", i), corners = sample(3:9, 1))
  )
}
shapes <- lapply(1:70, make)
areas <- vapply(shapes, area, 0)
words <- vapply(shapes, describe, "")
fitting <- matrix(NA, 70, 70)
for (i in 1:70) for (j in 1:70) fitting[i, j] <- fits(shapes[[i]], shapes[[j]])
boxes <- Filter(function(s) is(s, "Box"), shapes)
row_of_boxes <- Reduce(`+`, boxes)
corners <- sum(sapply(Filter(function(s) is(s, "Polygon"), shapes), length))
wrong <- expression(new("Circle", r = -1), new("Square", w = 1, h = 2), new("Shape"))
complaints <- vapply(wrong, function(e) tryCatch({ eval(e); "none" }, error = function(err) conditionMessage(err)), "")
