#include "core/code.h"

#include <doctest/doctest.h>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

using namespace remotist;

TEST_CASE("every code has its own name, a status that fits and a way back from the name") {
  std::set<std::string_view> names;
  for (const CodeRow& row : code_table()) {
    CAPTURE(row.name);
    CHECK(names.insert(row.name).second);
    CHECK(row.http_status >= 400);
    CHECK(row.http_status < 600);
    // Repeating blindly what may have been done would do it twice.
    const bool temporary = row.http_status == 408 || row.http_status == 429 || row.http_status == 503;
    CHECK(row.retryable == (temporary && row.code != Code::commit_in_doubt));
    CHECK(code_named(row.name) == row.code);
    CHECK(&row_of(row.code) == &row);
  }
  CHECK_FALSE(code_named("no_such_code"));
}

TEST_CASE("docs/errors.md explains every code and no other") {
  std::ifstream in{REMOTIST_SOURCE_DIR "/docs/errors.md"};
  REQUIRE(in);
  std::string line;
  std::set<std::string> explained;
  while (std::getline(in, line)) {
    if (line.starts_with("| `")) explained.insert(line.substr(3, line.find('`', 3) - 3));
  }
  std::set<std::string> expected;
  for (const CodeRow& row : code_table()) expected.emplace(row.name);
  CHECK(explained == expected);
}
