x <- data.frame(a = 1:3)
saveRDS(x, "x.rds"); x$b <- readRDS("x.rds")$a * 2L; x
f <- function() { x <<- x[1, ]; "done" }; f(); f(); f(); f()
saveRDS(f, "f.rds"); g <- readRDS("f.rds"); g(); identical(body(f), body(g)); deparse(g)
save(x, f, file = "both.rda"); rm(x, f); load("both.rda"); x; f()
s <- serialize(f, NULL); h <- unserialize(s); h(); class(s); rm(s)
con <- textConnection("l1\nl2"); lines <- readLines(con); close(con); lines
write.csv(x, "x.csv", row.names = FALSE); y <- read.csv("x.csv"); y
cat("a b\n", file = "t.txt"); cat("c\n", file = "t.txt", append = TRUE); n <- length(readLines("t.txt")); n
sink("s.txt"); print("hidden"); x <- 5; sink(); readLines("s.txt"); dput(x); dump("x", "d.R"); x <- 6; source("d.R"); x
out <- capture.output({ x <- 7; print(x) }); out; unlink("t.txt"); file.exists("t.txt")
compiled <- compiler::cmpfun(function() x <<- x + 1); compiled(); x; saveRDS(compiled, "c.rds"); back <- readRDS("c.rds"); back(); x
