# Attributes that R's own functions would refuse to set.
forged <- function(x, ...) {
  bytes <- serialize(x, NULL)
  for (change in list(...)) {
    at <- grepRaw(change[[1L]], bytes, fixed = TRUE)
    bytes[at + seq_along(change[[2L]]) - 1L] <- change[[2L]]
  }
  unserialize(bytes)
}
int <- function(n) writeBin(as.integer(n), raw(), endian = "big")

test_that("what R makes is sound", {
  for (x in list(1:3, letters, datasets::iris, datasets::mtcars, datasets::Titanic, as.POSIXlt("2026-02-01"), data.frame(), list(a = NULL), factor(character()), structure(list(a = 1, m = matrix(1:2, 1)), class = "data.frame", row.names = 1L), pairlist(a = 1))) {
    expect_true(is_sound(x))
  }
})

test_that("a matrix larger than its data is not", {
  expect_false(is_sound(forged(matrix(11:16, 2L, 3L), list(c(int(2L), int(3L)), c(int(2000L), int(3000L))))))
})

test_that("a factor with levels that are not there is not", {
  expect_false(is_sound(forged(factor(c("a", "b")), list(c(int(2L), int(1L), int(2L)), c(int(2L), int(1L), int(77L))))))
})

test_that("a data frame whose columns have other lengths is not", {
  expect_false(is_sound(structure(list(a = 1:3, b = 1:2), names = c("a", "b"), class = "data.frame", row.names = 1:3)))
  expect_false(is_sound(list(1, list(structure(list(a = 1:3), names = "a", class = "data.frame", row.names = 1:4)))))
})

test_that("no method of the value's class is called", {
  for (generic in c("length", "names", "dim", "print", "format", "[[", "$", "as.list")) {
    registerS3method(generic, "remotist_trap", function(x, ...) stop("ran"), envir = globalenv())
  }
  expect_true(is_sound(structure(list(a = 1), class = "remotist_trap")))
})
