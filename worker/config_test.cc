#include "worker/config.h"

#include <doctest/doctest.h>

using namespace remotist;

TEST_CASE("a worker tells every mistake in its settings at once") {
  std::vector<std::string> mistakes;
  worker::read_config({{"REMOTIST_WORKER_ACCEPT_MS", "soon"}, {"REMOTIST_WORKER_COLOUR", "blue"}}, mistakes);
  CHECK(mistakes.size() == 3);  // a number, an unknown one, and no broker
}
