#include <doctest/doctest.h>
#include <string>

#include "tests/watch/watched_run.h"

namespace remotist::volunteer::watched {

namespace {

// Runs the script with x watched; the values of its records must be identical() to `expected`, in order.
void expect_records(const std::string& script, const std::string& expected, const std::string& name = "x") {
  CAPTURE(script);
  const auto run = sandbox().run(script, {name});
  CAPTURE(run.log);
  CHECK(run.verdict.ending == Ending::completed);
  CHECK(r_output(run, 0,
                 "e <- list(" + expected +
                     ")\nif (!identical(v, e)) { cat('recorded '); dput(v) }\n"
                     "if (!identical(n, as.numeric(seq_along(n))) || any(diff(at_us) < 0)) "
                     "print(t)\ncat('done')") == "done");
}

}  // namespace

TEST_CASE("each way to write an assignment is seen") {
  expect_records("x <- 1\nx = 2\n3 -> x\n4 ->> x\n\"x\" <- 5\n`x` <- 6\n(x <- 7)\nx <<- 8\n",
                 "1, 2, 3, 4, 5, 6, 7, 8");
  expect_records("a <- x <- b <- 3; y <- c(x <- 4, 5)\nif ((x <- 6) > 5) x <- 7\n", "3, 4, 6, 7");
}

TEST_CASE("functions that assign by name are seen") {
  expect_records(
      "assign('x', 1)\nassign('x', 2, envir = globalenv())\nf <- function() assign('x', 3, envir = "
      ".GlobalEnv)\n"
      "f()\ng <- function() assign('x', 4, inherits = TRUE)\ng()\nh <- function() assign('x', 99)\nh()\n",
      "1, 2, 3, 4");
  expect_records(
      "list2env(list(x = 1, y = 2), globalenv())\ninvisible(Map(assign, 'x', 2:3, MoreArgs = list(envir = "
      "globalenv())))\n"
      "do.call('assign', list('x', 4, envir = globalenv()))\ndo.call('<-', list('x', 5), envir = "
      "globalenv())\n",
      "1, 2L, 3L, 4, 5");
  expect_records("delayedAssign('x', {cat('forced\\n'); 7})\ny <- x + 1\nx <- 8\n", "7, 8");
  expect_records("x <- 1\nsave(x, file = 's.rda')\nx <- 2\nload('s.rda')\n", "1, 2, 1");
  expect_records(
      "writeLines('x <- 2; x <- 3', 's.R')\nx <- 1\nsource('s.R')\nsys.source('s.R', globalenv())\n",
      "1, 2, 3, 2, 3");
}

TEST_CASE("a removal is a change, and so is what comes after it") {
  expect_records("x <- 1\nrm(x)\nx <- 1\nrm(list = 'x')\nx <- 2\nremove(x)\nx <- 3\n",
                 "1, NULL, 1, NULL, 2, NULL, 3");
  const auto run = sandbox().run("x <- 1\nrm(x)\n", {"x"});
  REQUIRE(run.records.size() == 2);
  CHECK(run.records[1].sent.record.kind == WatchedKind::removed);
}

TEST_CASE("replacements at any depth are seen") {
  expect_records(
      "x <- list(a = list(b = 1:3), c = 'z')\nx$a$b[2] <- 9L\nnames(x)[2] <- 'd'\nattr(x, 'k') <- "
      "5\nx[['d']] <- NULL\n",
      "list(a = list(b = 1:3), c = 'z'), list(a = list(b = c(1L, 9L, 3L)), c = 'z'), list(a = list(b = c(1L, "
      "9L, 3L)), d = 'z'),"
      "structure(list(a = list(b = c(1L, 9L, 3L)), d = 'z'), k = 5), structure(list(a = list(b = c(1L, 9L, "
      "3L))), k = 5)");
  expect_records(
      "x <- 1:4\ndim(x) <- c(2, 2)\nx[2, ] <- 0L\nlevels(x) <- 'l'\n",
      "1:4, matrix(1:4, 2), matrix(c(1L, 0L, 3L, 0L), 2), structure(c(1L, 0L, 3L, 0L), dim = c(2L, 2L), "
      "levels = 'l')");
  expect_records(
      "`second<-` <- function(x, value) { x[2] <- value; x }\nx <- 1:3\nsecond(x) <- 10L\nsecond(names(x)) "
      "<- 'b'\n",
      "1:3, c(1L, 10L, 3L), structure(c(1L, 10L, 3L), names = c(NA, 'b', NA))");
}

TEST_CASE("changes in loops, compiled or not, are seen one by one") {
  expect_records(
      "x <- 0\nfor (i in 1:50) x <- x + i\n",
      "0, 1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 66, 78, 91, 105, 120, 136, 153, 171,"
      "190, 210, 231, 253, 276, 300, 325, 351, 378, 406, 435, 465, 496, 528, 561, 595, 630, 666, 703, 741, "
      "780, 820, 861, 903,"
      "946, 990, 1035, 1081, 1128, 1176, 1225, 1275");
  expect_records("x <- 0\nwhile (x < 5) x <- x + 1\nrepeat { x <- x * 2; if (x > 30) break }\n",
                 "0, 1, 2, 3, 4, 5, 10, 20, 40");
  expect_records("for (x in c('a', 'b', 'c')) NULL\nfor (x in list(1, 'z', NULL)) { if (is.null(x)) next }\n",
                 "'a', 'b', 'c', 1, 'z', NULL");
  expect_records("for (x in 1:3) for (j in 1:2) x <- x * 10\n", "1L, 10, 100, 2L, 20, 200, 3L, 30, 300");
  expect_records("for (x in 1:4) { if (x == 2) next; if (x == 4) break; eval(quote(x)) }\n",
                 "1L, 2L, 3L, 4L");
  expect_records(
      "compiler::enableJIT(0)\nx <- 0\nfor (i in 1:4) x <- x + 1\nf <- function() x <<- x + 1\nfor (i in "
      "1:4) f()\n",
      "0, 1, 2, 3, 4, 5, 6, 7, 8");
}

TEST_CASE("changes from functions, closures and apply loops are seen, and local variables are not") {
  expect_records(
      "x <- 0\nf <- function() { x <<- x + 1; x <- 100; x = 101; x[2] <- 5 }\nfor (i in 1:6) f()\n",
      "0, 1, 2, 3, 4, 5, 6");
  expect_records(
      "make <- function() { x <- 0; function() { x <<- x + 1; x } }\nx <- 'global'\nf <- make()\nfor (i in "
      "1:5) f()\n",
      "'global'");
  expect_records(
      "x <- 0\ninvisible(lapply(1:3, function(i) x <<- x + i))\ninvisible(sapply(1:2, \\(i) x <<- -i))\n"
      "invisible(Map(function(a, b) x <<- a * b, 1:2, 3:4))\ninvisible(vapply(1:2, function(i) { x <<- i; 1 "
      "}, 1))\n",
      "0, 1, 3, 6, -1L, -2L, 3L, 8L, 1L, 2L");
  expect_records(
      "f <- function(v = x <<- 5) { v; invisible() }\nf(); f(x <- 6); g <- function(v) v\nx <- 1; h <- g(x "
      "<- 2)\n",
      "5, 6, 1, 2");
  expect_records(
      "outer1 <- function() { inner <- function() x <<- 2; x <<- 1; inner() }\nfor (i in 1:3) { outer1(); x "
      "<- 0 }\n",
      "1, 2, 0, 1, 2, 0, 1, 2, 0");
  expect_records("x <- 0; f <- function(n) { x <<- n; if (n > 0) Recall(n - 1) }\nf(3)\n", "0, 3, 2, 1, 0");
  expect_records(
      "x <- 0; tryCatch({ x <- 1; stop('e') }, error = function(e) x <<- 2, finally = x <- 3)\n"
      "f <- function() { on.exit(x <<- 5); x <<- 4 }\nf()\n",
      "0, 1, 2, 3, 4, 5");
  expect_records(
      "x <- 0; R <- setRefClass('R', fields = list(x = 'numeric'), methods = list(go = function() x <<- x + "
      "1))\n"
      "r <- R$new(x = 1); for (i in 1:5) r$go(); x <- r$x\n",
      "0, 6");
}

TEST_CASE("changes through eval, local and with are seen where they reach the variable") {
  expect_records(
      "eval(quote(x <- 1))\neval(parse(text = 'x <- 2; x <- 3'))\nevalq(x <- 4, globalenv())\neval(quote(x "
      "<- 99), list(x = 1))\n"
      "local(x <- 99)\nlocal(x <<- 5)\nlocal({ x <- 98; f <- function() x <<- 97; f() })\nwith(list(y = 6), "
      "x <<- y)\n"
      "with(list(x = 1), x <- 96)\neval.parent(quote(x <- 7))\nx <- within(list(a = 1), x <- 2)$x\n",
      "1, 2, 3, 4, 5, 6, 7, 2");
  expect_records(
      "f <- function() { eval(quote(x <- 99)); eval(quote(x <<- 1)); assign('x', 2, envir = parent.frame()) "
      "}\nf(); f()\n",
      "1, 2, 1, 2");
  expect_records("for (i in 1:3) eval(quote(x <- i))\nfor (i in 1:3) local(x <<- i * 10L)\n",
                 "1L, 2L, 3L, 10L, 20L, 30L");
}

TEST_CASE("an assignment of the same value makes no record") {
  expect_records("x <- 5\nx <- 5\nx <- 5\nx <- 6\nx <- c(1, 2)\nx[2] <- 2\nx <- 1:3\nx <- c(1L, 2L, 3L)\n",
                 "5, 6, c(1, 2), 1:3");
  expect_records("x <- 1\ny <- 2\nprint(y)\ny <- 3\n", "1");
}

}  // namespace remotist::volunteer::watched
