# Reports progress that is none.
source("prelude.R")

trying("odd progress")
report <- function(...) tryCatch(remotist::progress(...), error = function(e) contained(conditionMessage(e)))
for (fraction in list(NaN, NA, Inf, -1, 2, "half", NULL, c(0.1, 0.2), list(0.5), function() 1)) report(fraction, "x")
report(0.5, strrep("long ", 1e6))
report(0.5, "\xff\xfe")
report(0.5, 1:10)
report(0.5, NULL)
report(0.5)
kept <- "kept"
