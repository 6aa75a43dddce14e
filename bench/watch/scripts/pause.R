# How long one assignment of a large vector to the watched variable keeps R, to a plain one, and the first write after it
# while the value is being read by another thread.
now <- function() as.numeric(Sys.time()) * 1e3
for (mb in c(1, 100, 240, 1000)) {
  big <- numeric(mb * 125000)
  big[1] <- 1
  other <- numeric(mb * 125000)
  Sys.sleep(if (mb > 100) 30 else 3)
  t0 <- now(); plain <- big; t1 <- now(); x <- big; t2 <- now()
  big <- NULL; plain <- NULL
  t3 <- now(); x[1] <- 2; t4 <- now()
  t5 <- now(); other[1] <- 2; t6 <- now()
  cat(sprintf("  %5d MB %11.3f %11.3f %17.3f %13.3f\n", mb, t1 - t0, t2 - t1, t4 - t3, t6 - t5))
  x <- NULL; other <- NULL
  invisible(gc(FALSE))
}
