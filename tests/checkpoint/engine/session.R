# What a script changes of the session around its values.
Sys.unsetenv("EDITOR")
Sys.setenv(ODD = "odd")
options(str = NULL, odd = 1)
before <- Sys.umask("027")
registerS3method("format", "odd", function(x, ...) "an odd one")
basis <- splines::bs(1:20, df = 4)
table <- utils::hashtab()
here <- new.env()
table[["a"]] <- 1
table[[here]] <- function(n) { s <- 0; for (i in seq_len(n)) s <- s + i; s }
total <- 0
for (i in 1:3000) total <- total + i

made <- file.create("made.txt")
mode <- format(file.mode("made.txt"))
editor <- Sys.getenv("EDITOR", NA)
odd <- Sys.getenv("ODD")
set <- list(getOption("str"), getOption("odd"))
shown <- format(structure(1, class = "odd"))
at <- predict(basis, 7.5)
held <- list(table[["a"]], table[[here]](3000), utils::numhash(table))
rm(table, here)
