#include "market/api/router.h"

#include <doctest/doctest.h>

using namespace remotist::market;

namespace {

Router sample() {
  Router router;
  router.add("GET", "/job/", 0);
  router.add("PUT", "/job/", 1);
  router.add("GET", "/job/{id}", 2);
  router.add("POST", "/job/quote", 3);
  router.add("GET", "/job/{id}/partialResults/{variable}", 4);
  return router;
}

}  // namespace

TEST_CASE("a path finds its route and gives its values") {
  const Router router = sample();
  CHECK(router.find("GET", "/job/")->route == 0);
  CHECK(router.find("GET", "/job")->route == 0);
  CHECK(router.find("PUT", "/job/")->route == 1);
  const auto job = router.find("GET", "/job/42");
  CHECK(job->route == 2);
  CHECK(job->values == std::vector<std::string>{"42"});
  const auto partial = router.find("GET", "/job/42/partialResults/fit$loss");
  CHECK(partial->route == 4);
  CHECK(partial->values == std::vector<std::string>{"42", "fit$loss"});
}

TEST_CASE("a value is what its part stands for, and may have a slash of its own") {
  const Router router = sample();
  const auto value_in = [&](const std::string& part) {
    const auto match = router.find("GET", "/job/42/partialResults/" + part);
    return match ? match->values.at(1) : "none";
  };
  CHECK(value_in("fit%24loss") == "fit$loss");
  CHECK(value_in("x%5B%5b1%5D%5d") == "x[[1]]");
  CHECK(value_in("a%2Fb") == "a/b");
  CHECK(value_in("a+b%20c") == "a+b c");
  CHECK(value_in("%E2%80%A6") == "…");
  for (const char* bad :
       {"%", "%2", "a%2x", "%00", "a%00b", "%ff", "%E2%80", "%2e%2e%2fa", "a%2F..%2Fb", "a%2F%2Fb"}) {
    CAPTURE(bad);
    CHECK(value_in(bad) == "none");
  }
}

TEST_CASE("the root is a path of its own") {
  Router router = sample();
  router.add("GET", "/", 5);
  CHECK(router.find("GET", "/")->route == 5);
  CHECK(router.find("GET", "/")->values.empty());
  CHECK_FALSE(router.find("POST", "/")->route);
  for (const char* path : {"", "//", "/.", "job", "*"}) {
    CAPTURE(path);
    CHECK_FALSE(router.find("GET", path));
  }
}

TEST_CASE("an exact part wins over a value") {
  CHECK(sample().find("POST", "/job/quote")->route == 3);
}

TEST_CASE("a path that takes other methods says which") {
  const auto match = sample().find("DELETE", "/job/");
  REQUIRE(match);
  CHECK_FALSE(match->route);
  CHECK(match->allowed == "GET, PUT");
}

TEST_CASE("what is not in the table is not found") {
  const Router router = sample();
  for (const char* path : {"", "/", "/jobs", "/job//", "/job//code", "/job/42/code", "/JOB/",
                           "/job/42/partialResults", "/job/../job/42/x", "job/42"}) {
    CAPTURE(path);
    CHECK_FALSE(router.find("GET", path));
  }
}
