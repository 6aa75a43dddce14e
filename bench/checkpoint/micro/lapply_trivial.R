# lapply() over many elements with a trivial function. 600000 iterations.
x <- lapply(1:600000, function(i) i + 1)
