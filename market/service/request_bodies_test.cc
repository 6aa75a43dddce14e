#include "market/service/request_bodies.h"

#include <doctest/doctest.h>

#include "tests/fuzz/corpus.h"
#include "tests/fuzz/requests.h"

using namespace remotist;

TEST_CASE("requests that the fuzzer starts from or once found break nothing") {
  fuzz::check_corpus("requests", [](std::string_view text) { return fuzz::requests_broken_by(text, true); });
}
