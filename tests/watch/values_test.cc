#include <doctest/doctest.h>
#include <format>
#include <sstream>
#include <string>
#include <vector>

#include "tests/watch/watched_run.h"

namespace remotist::volunteer::watched {

TEST_CASE("a value of every type of R arrives as it is") {
  const std::vector<std::string> values{"1",
                                        "NULL",
                                        "NA",
                                        "c(NA_real_, NaN, Inf, -Inf, 0)",
                                        "c(1L, NA)",
                                        "'text'",
                                        "c('gr\\u00fc\\u00df', NA, '')",
                                        "iconv('gr\\u00fc\\u00df', 'UTF-8', 'latin1')",
                                        "as.raw(0:255)",
                                        "c(1i, NA)",
                                        "list(1, 'a', list(NULL, 2i))",
                                        "factor(c('u', 'v', 'u'))",
                                        "as.Date('2024-02-29')",
                                        "as.POSIXct(0, tz = 'UTF')",
                                        "as.difftime(3, units = 'hours')",
                                        "data.frame(a = 1:3, b = letters[1:3])",
                                        "matrix(1:6, 2, dimnames = list(NULL, c('x', 'y', 'z')))",
                                        "array(1:24, 2:4)",
                                        "quote(f(x) + 1)",
                                        "as.name('symbol')",
                                        "expression(a + b, c)",
                                        "1:1e9",
                                        "seq(0, 1, length.out = 7)",
                                        "structure(list(a = 1), class = c('mine', 'yours'))",
                                        "as.numeric_version('1.2.3')",
                                        "as.hexmode(255L)",
                                        "numeric()",
                                        "character()",
                                        "pairlist(a = 1, 2)",
                                        "strsplit('a b c', ' ')",
                                        "ts(1:12, start = 2000, frequency = 12)",
                                        "table(c('a', 'b', 'a'))",
                                        "setNames(1:3, c('a', 'b', NA))",
                                        "as.POSIXlt('2024-01-01', tz = 'UTC')",
                                        "TRUE",
                                        "rep('long', 20000)",
                                        "rnorm(1)*0 + 1:20000/3",
                                        "as.character(1:10)",
                                        "c(a = TRUE, b = NA)"};
  std::string script;
  std::string list;
  for (const auto& value : values) {
    script += "x <- " + value + "\n";
    list += (list.empty() ? "" : ", ") + value;
  }
  const auto run = sandbox().run(script, {"x"});
  CAPTURE(run.log);
  CHECK(run.verdict.ending == Ending::completed);
  CHECK(run.records.size() == values.size());
  CHECK(
      r_output(run, 0,
               "e <- list(" + list +
                   ")\nfor (i in seq_along(e)) if (!identical(v[[i]], e[[i]])) { cat(i, ''); str(v[[i]]) }\n"
                   "cat('asked')") == "asked");
}

TEST_CASE("plain values are serialised byte for byte as R does") {
  const auto run = sandbox().run(
      "values <- list(1, c(NA, 2L), NULL, 'text', c('gr\\u00fc\\u00df', NA, ''), iconv('gr\\u00fc\\u00df', "
      "'UTF-8', 'latin1'),\n"
      "  {b <- 'gr\\u00fc\\u00df'; Encoding(b) <- 'bytes'; b}, character(), list(), list(1, 'a', list(NULL, "
      "2i, list())),\n"
      "  as.raw(1:3), rep(0.5, 20), as.list(letters), rep('long', 90), rep('longer', 1100))\n"
      "for (value in values[-3]) {\n"
      "  x <- value\n"
      "  cat(as.character(serialize(x, NULL, xdr = FALSE)), '\\n', sep = '')\n"
      "}\n",
      {"x"});
  REQUIRE(run.verdict.ending == Ending::completed);
  std::istringstream lines{run.log};
  std::size_t compared = 0;
  for (std::string line; std::getline(lines, line); ++compared) {
    CAPTURE(compared);
    REQUIRE(compared < run.records.size());
    std::string ours;
    for (const char byte : run.records[compared].stream)
      ours += std::format("{:02x}", static_cast<unsigned char>(byte));
    CHECK(ours == line);
  }
  CHECK(compared == 14);
  CHECK(run.records.size() == 14);
}

TEST_CASE("objects with classes and environments arrive whole") {
  const auto run = sandbox().run(
      "setClass('P', representation(n = 'numeric'))\np <- new('P', n = 1)\np@n <- 2\n"
      "e <- new.env()\ne$inner <- 4\ne <- as.environment(list(inner = 5))\nm <- lm(dist ~ speed, cars)\n",
      {"p", "e", "m"});
  CAPTURE(run.log);
  CHECK(run.verdict.ending == Ending::completed);
  CHECK(r_output(run, 0, "setClass('P', representation(n = 'numeric'))\ncat(v[[1]]@n, v[[2]]@n)") == "1 2");
  CHECK(r_output(run, 1, "cat(length(ls(v[[1]])), v[[2]]$inner, v[[3]]$inner)") == "0 4 5");
  CHECK(r_output(run, 2, "cat(round(coef(v[[1]])[[2]], 3))") == "3.932");
  const auto reference =
      sandbox().run("A <- setRefClass('A', fields = list(k = 'numeric'))\nx <- A$new(k = 5)\n", {"x"});
  CHECK(r_output(reference, 0, "cat(v[[1]]$k)") == "5");
}

TEST_CASE("a large value arrives through a file that is gone afterwards") {
  const auto run = sandbox().run("x <- (1:12500000) / 2\nx[3] <- 0\ny <- 1\n", {"x"});
  CAPTURE(run.log);
  CHECK(run.verdict.ending == Ending::completed);
  REQUIRE(run.records.size() == 2);
  CHECK(run.records[0].sent.record.bytes.empty());
  CHECK_FALSE(run.records[0].sent.file.empty());
  CHECK_FALSE(std::filesystem::exists(run.folder / kOutFolder / run.records[0].sent.file));
  CHECK(r_output(
            run, 0,
            "x <- (1:12500000) / 2\ncat(identical(v[[1]], x), '')\nx[3] <- 0\ncat(identical(v[[2]], x))") ==
        "TRUE TRUE");
}

TEST_CASE("a value at the limit of a frame is in the frame, and one byte more is in a file") {
  // A stream of raw bytes is 31 bytes longer than the bytes.
  const auto run = sandbox().run("x <- raw(65536 - 31)\nx <- raw(65536 - 30)\n", {"x"});
  REQUIRE(run.records.size() == 2);
  CHECK(run.records[0].sent.record.bytes.size() == 65536);
  CHECK(run.records[0].sent.file.empty());
  CHECK(run.records[1].sent.record.bytes.empty());
  CHECK(run.records[1].stream.size() == 65537);
}

TEST_CASE("a value that changes while it is sent arrives as it was when it was taken") {
  const auto run = sandbox().run(
      "x <- numeric(2e6)\nfor (i in 1:400) { x[] <- i; if (i %% 50 == 0) { junk <- lapply(1:50, function(k) "
      "runif(2000)); gc(FALSE) } }\n",
      {"x"});
  CHECK(run.verdict.ending == Ending::completed);
  CHECK(run.records.size() >= 2);
  CHECK(r_output(run, 0, "cat(all(vapply(v, function(x) all(x == x[1]), TRUE)), v[[length(v)]][1])") ==
        "TRUE 400");
}

TEST_CASE("a value that cannot be shown is reported with the reason, and the job runs on") {
  const auto run = sandbox().run(
      "f <- function() 1\np <- sum\nc1 <- textConnection('a')\nclose(c1)\ne <- "
      "getDLLRegisteredRoutines('stats')$.Call[[1]]$address\n"
      "makeActiveBinding('ab', function() stop('never called'), globalenv())\nx <- 1\n",
      {"f", "p", "c1", "e", "ab", "never", "x", "2bad", "x[1]"});
  CAPTURE(run.log);
  CHECK(run.verdict.ending == Ending::completed);
  const auto words = [&](std::size_t variable) {
    const auto all = run.of(variable);
    return all.size() == 1 && all[0].sent.record.kind == WatchedKind::problem ? all[0].sent.record.words
                                                                              : "not one problem";
  };
  CHECK(words(0) == "it is a function");
  CHECK(words(1) == "it is a function");
  CHECK(words(2) == "it is a connection");
  CHECK(words(3) == "it is an external pointer");
  CHECK(words(4).starts_with("it is an active binding"));
  CHECK(words(5) == "it never existed");
  CHECK(words(7).starts_with("\"2bad\" cannot be watched"));
  CHECK(words(8).starts_with("\"x[1]\" cannot be watched"));
  CHECK(run.of(6).size() == 1);
}

TEST_CASE("a value beyond the size limit is a problem record, not the end of the job") {
  const auto run = sandbox().run("x <- numeric(34e6)\nx <- 1\n", {"x"});
  CHECK(run.verdict.ending == Ending::completed);
  REQUIRE(run.records.size() == 2);
  CHECK(run.records[0].sent.record.words == "it is larger than 256 MB, the most that this job can show");
}

TEST_CASE("watching does not take a job past its memory") {
  auto limits = TestSandbox::generous_limits();
  limits.ram_mb = 400;
  const auto run = sandbox().run(
      "y <- numeric(15e6)\nx <- numeric(12.5e6)\nfor (i in 1:20) x[i] <- i\nz <- numeric(15e6)\nx[1] <- 5\n",
      {"x"}, limits);
  CAPTURE(run.log);
  CHECK(run.verdict.ending == Ending::completed);
  REQUIRE(run.records.size() >= 1);
  CHECK(r_output(run, 0, "x <- v[[length(v)]]; cat(x[1], x[20], length(x))") == "5 20 12500000");
}

TEST_CASE("small values do not wait for large ones") {
  const auto run = sandbox().run(
      "x <- numeric(1.2e7)\nfor (i in 1:40) { x[i] <- i; y <- i; e <- i * 2; Sys.sleep(0.02) }\n",
      {"x", "y", "y every 60"});
  CHECK(run.verdict.ending == Ending::completed);
  CHECK(r_output(run, 1, "cat(identical(v, as.list(1:40)), all(changes == 1))") == "TRUE TRUE");
  CHECK(r_output(run, 2, "cat(unlist(v))") == "1 40");
  CHECK(r_output(run, 0, "cat(v[[length(v)]][40])") == "40");
}

TEST_CASE("elements are watched by their path") {
  const auto run = sandbox().run(
      "fit <- list(loss = 1, other = 0)\nfit$other <- 1\nfit$loss <- 0.5\nfit$other <- 2\nfit$loss <- "
      "0.25\nfit$loss <- NULL\n"
      "setClass('S', representation(n = 'numeric'))\nstate <- new('S', n = 1)\nstate@n <- 2\n"
      "v <- c(10, 20, 30)\nv[1] <- 11\nv[2] <- 21\nnamed <- c(a = 1, b = 2)\nnamed[['b']] <- 3\n"
      "deep <- list(list(k = list(z = 1)))\ndeep[[1]]$k$z <- 2\n",
      {"fit$loss", "state@n", "v[[2]]", "named[[\"b\"]]", "deep[[1]]$k$z", "fit"});
  CAPTURE(run.log);
  CHECK(run.verdict.ending == Ending::completed);
  CHECK(r_output(run, 0, "dput(v)") == "list(1, 0.5, 0.25, NULL)");
  CHECK(r_output(run, 1, "dput(v)") == "list(1, 2)");
  CHECK(r_output(run, 2, "dput(v)") == "list(20, 21)");
  CHECK(r_output(run, 3, "dput(v)") == "list(2, 3)");
  CHECK(r_output(run, 4, "dput(v)") == "list(1, 2)");
  CHECK(run.of(5).size() == 6);
}

TEST_CASE("changes inside environments and reference objects are seen at the next safe point") {
  const auto run = sandbox().run(
      "e <- new.env()\ne$k <- 1\nf <- function(env) env$k <- 2\nf(e)\nalias <- e\nalias$k <- 3\n"
      "Acc <- setRefClass('Acc', fields = list(total = 'numeric'), methods = list(add = function(x) { total "
      "<<- total + x; invisible(.self) }))\n"
      "acc <- Acc$new(total = 0)\nother <- acc\nother$add(5)\nother$add(7)\n"
      "holder <- list(e = e)\ne$k <- 4\n"
      "slow <- new.env()\nslow$n <- 0\nstep <- function() { for (i in 1:10) { slow$n <- i; Sys.sleep(0.1) } "
      "}\nstep()\n",
      {"e$k", "acc$total", "holder", "slow$n", "e"});
  CAPTURE(run.log);
  CHECK(run.verdict.ending == Ending::completed);
  CHECK(r_output(run, 0, "dput(v)") == "list(1, 2, 3, 4)");
  CHECK(r_output(run, 1, "dput(v)") == "list(0, 5, 12)");
  CHECK(r_output(run, 2, "cat(vapply(v, function(h) h$e$k, 1))") == "3 4");
  CHECK(r_output(run, 3, "x <- unlist(v); cat(x[1], x[length(x)], length(x) >= 5)") == "0 10 TRUE");
}

}  // namespace remotist::volunteer::watched
