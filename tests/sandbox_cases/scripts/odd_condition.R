# Signals errors that are not made as errors are.
source("prelude.R")

trying("a condition without a message")
odd <- structure(class = c("odd", "error", "condition"), list(message = list(1, function() 2), call = 1:10))
stop(odd)
