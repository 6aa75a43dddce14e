#include <chrono>
#include <doctest/doctest.h>
#include <string>

#include "core/limits.h"
#include "tests/watch/watched_run.h"

namespace remotist::volunteer::watched {

TEST_CASE("a hundred changes a second get a record each") {
  const auto run = sandbox().run("for (i in 1:500) { x <- i; Sys.sleep(0.008) }\n", {"x"});
  CHECK(run.verdict.ending == Ending::completed);
  CHECK(r_output(run, 0, "cat(identical(v, as.list(1:500)), all(changes == 1))") == "TRUE TRUE");
}

TEST_CASE("each change of a burst gets a record, up to the burst limit") {
  const auto run = sandbox().run(
      "x <- 0\nfor (i in 1:" + std::to_string(static_cast<int>(limits::kWatchedRecordsBurst) - 1) +
          ") x <- x + 1\n",
      {"x"});
  CHECK(run.records.size() == static_cast<std::size_t>(limits::kWatchedRecordsBurst));
}

TEST_CASE(
    "beyond the limit a record has the newest value and the count, and the last value always gets one") {
  const auto run = sandbox().run("x <- 0\nfor (i in 1:2000000) x <- x + 1\n", {"x"});
  CHECK(run.verdict.ending == Ending::completed);
  CHECK(run.records.size() > limits::kWatchedRecordsBurst);
  CHECK(run.records.size() < 2'000);
  CHECK(r_output(run, 0, "x <- unlist(v); cat(x[length(x)], sum(changes), all(diff(x) == changes[-1]))") ==
        "2e+06 2000001 TRUE");
}

TEST_CASE("a value that waits is recorded while R calculates or sleeps") {
  const auto run = sandbox().run(
      "x <- 0\nfor (i in 1:400) x <- x + 1\ns <- 0\nfor (q in 1:6000000) s <- s + q\ny <- 0\nfor (i in "
      "1:400) y <- y + 1\nSys.sleep(1)\nx <- -1; y <- -1\n",
      {"x", "y"});
  CHECK(run.verdict.ending == Ending::completed);
  CHECK(r_output(run, 0, "cat(400 %in% unlist(v))") == "TRUE");
  CHECK(r_output(run, 1,
                 "cat(400 %in% unlist(v), at_us[which(unlist(v) == 400)] < at_us[length(at_us)] - 5e5)") ==
        "TRUE TRUE");
}

TEST_CASE("the last values are recorded before an error, quit() and after .Last") {
  const auto error = sandbox().run("x <- 0\nfor (i in 1:1000) x <- x + 1\nstop('enough')\n", {"x"});
  CHECK(error.verdict.ending == Ending::r_error);
  CHECK(r_output(error, 0, "cat(v[[length(v)]])") == "1000");
  const auto quit = sandbox().run("x <- 0\nfor (i in 1:1000) x <- x + 1\nq('no')\n", {"x"});
  CHECK(quit.verdict.ending == Ending::completed);
  CHECK(r_output(quit, 0, "cat(v[[length(v)]])") == "1000");
  const auto last = sandbox().run(".Last <- function() x <<- 'last'\nx <- 'first'\n", {"x"});
  CHECK(r_output(last, 0, "cat(unlist(v))") == "first last");
  const auto within =
      sandbox().run("f <- function() { for (i in 1:1000) x <<- i; stop('in f') }\nf()\n", {"x"});
  CHECK(within.verdict.ending == Ending::r_error);
  CHECK(r_output(within, 0, "cat(v[[length(v)]])") == "1000");
}

TEST_CASE("sixty-four variables are watched at once") {
  std::string script;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < limits::kWatchedVariablesMax; ++i) names.push_back("v" + std::to_string(i));
  script = "for (r in 1:3) for (i in 0:63) assign(paste0('v', i), i * r, envir = globalenv())\n";
  const auto run = sandbox().run(script, names);
  CHECK(run.verdict.ending == Ending::completed);
  CHECK(run.of(0).size() == 1);
  for (std::size_t i = 1; i < names.size(); ++i) CHECK(run.of(i).size() == 3);
}

TEST_CASE("a rule in seconds records at most one value in so many seconds, and the last") {
  const auto run = sandbox().run("for (i in 1:60) { x <- i; Sys.sleep(0.02) }\n", {"x every 0.5"});
  CHECK(run.verdict.ending == Ending::completed);
  CHECK(
      r_output(run, 0,
               "cat(length(v) >= 3 && length(v) <= 5, v[[1]], v[[length(v)]], all(diff(at_us)[-(length(v) - "
               "1)] >= 5e5))") == "TRUE 1 60 TRUE");
}

TEST_CASE("a rule by fraction records a number that has moved by more than that fraction, and the last") {
  const auto run = sandbox().run("x <- 100\nfor (i in 1:35) x <- x + 1\n", {"x by 0.1"});
  CHECK(r_output(run, 0, "cat(unlist(v), '/', changes)") == "100 111 123 135 / 1 11 12 12");
}

TEST_CASE("changes in children that a script forks are not recorded") {
  const auto run = sandbox().run(
      "x <- 1\nr <- parallel::mclapply(1:4, function(i) { for (k in 1:500) x <<- x + i; x }, mc.cores = "
      "2)\nx <- sum(unlist(r))\n",
      {"x"});
  CAPTURE(run.log);
  CHECK(run.verdict.ending == Ending::completed);
  CHECK(r_output(run, 0, "cat(unlist(v))") == "1 6504");
}

TEST_CASE("batched loops count each change, of numbers, elements and their own variable") {
  const std::string script =
      "x <- numeric(10)\nn <- 0\nfor (i in 1:1000000) { x[i %% 10 + 1] <- i; n <- n + 1 }\n"
      "for (q in seq(1, 2, length.out = 500000)) n <- n + 1\n";
  const std::vector<std::string> names{"x", "n", "i", "q"};
  for (const bool with_pauses : {false, true}) {
    CAPTURE(with_pauses);
    const auto run = with_pauses ? sandbox().run_with_pauses(script, names) : sandbox().run(script, names);
    CHECK(run.verdict.ending == Ending::completed);
    const auto sums = [&](std::size_t variable) { return r_output(run, variable, "cat(sum(changes))"); };
    CHECK(sums(0) == "1000001");
    CHECK(sums(1) == "1500001");
    CHECK(sums(2) == "1e+06");
    CHECK(sums(3) == "5e+05");
    CHECK(r_output(run, 1, "x <- unlist(v); cat(x[length(x)], all(diff(x) == changes[-1]))") ==
          "1500000 TRUE");
    CHECK(r_output(run, 2, "x <- unlist(v); cat(x[length(x)], all(diff(x) == changes[-1]))") ==
          "1000000 TRUE");
    CHECK(r_output(run, 0, "cat(v[[length(v)]])") ==
          "1e+06 999991 999992 999993 999994 999995 999996 999997 999998 999999");
  }
}

TEST_CASE("a batched loop that ends in an error, or gets slow, still has its newest value recorded") {
  const auto error = sandbox().run(
      "x <- 0\ntry(for (i in 1:1000000) { x <- i; y <- 1 / (if (i == 900000) 'no' else 1) }, silent = TRUE)\n"
      "Sys.sleep(1)\nx <- -1\n",
      {"x"});
  CHECK(error.verdict.ending == Ending::completed);
  CHECK(r_output(error, 0, "x <- unlist(v); cat(tail(x, 2))") == "9e+05 -1");
  const auto slow = sandbox().run(
      "z <- numeric(3e6)\nx <- 0\nfor (i in 1:100400) { x <- i; y <- if (i > 100000) sum(exp(z)) else 0 }\n",
      {"x"});
  CHECK(slow.verdict.ending == Ending::completed);
  CHECK(r_output(slow, 0, "x <- unlist(v); cat(sum(x > 100000) > 5, x[length(x)])") == "TRUE 100400");
}

}  // namespace remotist::volunteer::watched
