rules <- function(...) lapply(c(...), ignore_rule)

test_that("patterns work as in .gitignore", {
  expect_true(is_ignored("a/b.csv", FALSE, rules("*.csv")))
  expect_false(is_ignored("a/b.csv.R", FALSE, rules("*.csv")))
  expect_true(is_ignored("raw", TRUE, rules("raw/")))
  expect_false(is_ignored("raw", FALSE, rules("raw/")))
  expect_true(is_ignored("deep/raw", TRUE, rules("raw/")))
  expect_false(is_ignored("deep/raw", TRUE, rules("/raw/")))
  expect_true(is_ignored("a/x/y/z.rds", FALSE, rules("a/**/z.rds")))
  expect_true(is_ignored("a/z.rds", FALSE, rules("a/**/z.rds")))
  expect_false(is_ignored("a/b/c", FALSE, rules("a/*")))
  expect_true(is_ignored("a1.txt", FALSE, rules("a?.txt")))
  expect_true(is_ignored("a+b(c).txt", FALSE, rules("a+b(c).txt")))
  expect_false(is_ignored("aab(c)xtxt", FALSE, rules("a+b(c).txt")))
})

test_that("the last rule that matches a path decides", {
  expect_false(is_ignored("a.csv", FALSE, rules("*.csv", "!a.csv")))
  expect_true(is_ignored("a.csv", FALSE, rules("!a.csv", "*.csv")))
})

test_that("some files are never uploaded, whatever the rules say", {
  for (path in c(".git", "sub/.git", ".Rhistory", ".RData", ".RDATA", "a/.Renviron", ".Rproj.user")) {
    expect_true(is_ignored(path, TRUE, rules(paste0("!", path))), label = path)
  }
})
