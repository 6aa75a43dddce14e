#include "volunteer/sandbox/output_marker.h"

#include <doctest/doctest.h>
#include <format>
#include <string>

namespace remotist::volunteer {

namespace {

const std::string kPrefix = "\x01\x01\x02 a prefix \xff\x01";

// Text as it is, markers as <number>, what is left at the end after a bar.
std::string read_in_pieces(const std::string& output, std::size_t piece,
                           const std::string& prefix = kPrefix) {
  OutputMarkers markers{prefix};
  std::string all;
  for (std::size_t at = 0; at < output.size(); at += piece) {
    markers.feed(
        std::string_view(output).substr(at, piece), [&](std::string_view text) { all += text; },
        [&](std::uint64_t number) { all += std::format("<{}>", number); });
  }
  return all + "|" + markers.take_rest();
}

}  // namespace

TEST_CASE("markers are taken out of the output wherever it is cut") {
  const auto output = "one" + output_marker(kPrefix, 1) + output_marker(kPrefix, 0x0102030405060708) + "two" +
                      kPrefix.substr(0, 5) + "three" + output_marker(kPrefix, ~std::uint64_t{0}) + "four";
  const auto wanted =
      "one<1><72623859790382856>two" + kPrefix.substr(0, 5) + "three<18446744073709551615>four|";
  for (std::size_t piece = 1; piece <= output.size(); ++piece) CHECK(read_in_pieces(output, piece) == wanted);
}

TEST_CASE("what begins like a marker and is none stays in the output") {
  for (const auto& output :
       {kPrefix.substr(0, 14) + "x", kPrefix.substr(0, 2) + "-" + kPrefix.substr(2) + "z",
        std::string("plain"), kPrefix.substr(0, 1) + kPrefix.substr(0, 1) + "y"}) {
    for (std::size_t piece = 1; piece <= output.size(); ++piece)
      CHECK(read_in_pieces(output, piece) == output + "|");
  }
  const auto cut = "text" + output_marker(kPrefix, 5).substr(0, 20);
  for (std::size_t piece = 1; piece <= cut.size(); ++piece)
    CHECK(read_in_pieces(cut, piece) == "text|" + cut.substr(4));
}

TEST_CASE("without a prefix nothing is a marker") {
  const auto output = output_marker(kPrefix, 3);
  CHECK(read_in_pieces(output, 7, "") == output + "|");
}

}  // namespace remotist::volunteer
