# Works with children as scripts do: they are waited for and bring their values.
source("prelude.R")

trying("values of children")
twice <- unlist(parallel::mclapply(1:6, function(i) 2 * i, mc.cores = 2))
one <- parallel::mccollect(parallel::mcparallel("a value"))[[1]]
stopifnot(identical(twice, 2 * (1:6)), identical(one, "a value"))

trying("commands that wait for theirs")
said <- system("(sleep 0.2; echo first) & wait; echo then", intern = TRUE)
stopifnot(identical(said, c("first", "then")), system("exit 3") == 3)
