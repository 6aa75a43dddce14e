# Asks a person who is not there.
source("prelude.R")

trying("readline(), scan(), readLines(stdin()), menu()")
for (ask in expression(readline("who? "), scan("", quiet = TRUE), readLines(stdin()), readLines(file("stdin")), menu(c("a", "b"))))
  contained(deparse(ask), ": ", deparse(tryCatch(eval(ask), error = conditionMessage)))
