#include "volunteer/sandbox/output_log.h"

#include <doctest/doctest.h>
#include <string>

using namespace remotist::volunteer;

TEST_CASE("what fits is kept as it came") {
  OutputLog log{10};
  log.add("01234");
  log.add("56789");
  CHECK(log.text() == "0123456789");
}

TEST_CASE("one byte too many cuts the middle and marks the cut") {
  OutputLog log{10};
  log.add("0123456789a");
  CHECK(log.text() == "01234\n[... 1 bytes left out ...]\n6789a");
}

TEST_CASE("head and tail are the same however the output is cut") {
  std::string all;
  for (int i = 0; i < 1000; ++i) all += std::to_string(i);
  OutputLog whole{100};
  whole.add(all);
  for (const std::size_t piece : {1, 3, 49, 50, 51, 100, 101, 2889}) {
    OutputLog log{100};
    for (std::size_t at = 0; at < all.size(); at += piece) log.add(std::string_view(all).substr(at, piece));
    CHECK(log.text() == whole.text());
  }
  CHECK(whole.text().starts_with(all.substr(0, 50)));
  CHECK(whole.text().ends_with(all.substr(all.size() - 50)));
}

TEST_CASE("a log of size zero keeps only the line that marks the cut") {
  OutputLog log{0};
  log.add("abc");
  CHECK(log.text() == "\n[... 3 bytes left out ...]\n");
}

TEST_CASE("a log that is continued from what was kept is the same as one that was never interrupted") {
  std::string all;
  for (int i = 0; i < 100; ++i) all += std::to_string(i);
  for (const std::size_t cut : {0, 1, 49, 50, 51, 99, 100, 101, 150, 190}) {
    OutputLog whole{100};
    OutputLog first{100};
    whole.add(all);
    first.add(std::string_view(all).substr(0, cut));
    CHECK(first.kept().size() <= 100);
    OutputLog rest{100, first.kept(), first.left_out()};
    CHECK(rest.text() == first.text());
    rest.add(std::string_view(all).substr(cut));
    CHECK(rest.text() == whole.text());
  }
}
