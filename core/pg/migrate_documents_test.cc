// Compares docs/operations.md and docs/changelog.md with sql/migrations.
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace remotist {
namespace {

namespace migration_documents {

const std::filesystem::path kSource{REMOTIST_SOURCE_DIR};

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  REQUIRE(in);
  return {std::istreambuf_iterator<char>{in}, {}};
}

// The numbers, such as 0023, of the migrations that rename or drop what older programs use. Those before 0022
// are older than the upgrade that docs/operations.md describes.
std::set<std::string> breaking_migrations() {
  const std::regex breaks{R"(\b(RENAME\s+(TO|COLUMN)|DROP\s+(TABLE|COLUMN|FUNCTION))\b)", std::regex::icase};
  std::set<std::string> numbers;
  for (const auto& entry : std::filesystem::directory_iterator{kSource / "sql" / "migrations"}) {
    const auto number = entry.path().filename().string().substr(0, 4);
    if (number >= "0022" && std::regex_search(content_of(entry.path()), breaks)) numbers.insert(number);
  }
  return numbers;
}

// All numbers of migrations in the one sentence of the document that matches.
std::set<std::string> numbers_in(const char* document, const char* sentence) {
  const auto text = content_of(kSource / "docs" / document);
  std::smatch found;
  REQUIRE_MESSAGE(std::regex_search(text, found, std::regex{sentence}), document);
  const auto list = found.str();
  const std::regex number{"[0-9]{4}"};
  std::set<std::string> numbers;
  for (std::sregex_iterator each{list.begin(), list.end(), number}, end; each != end; ++each)
    numbers.insert(each->str());
  return numbers;
}

}  // namespace migration_documents

TEST_CASE("the documents name exactly the migrations that rename or drop what older programs use") {
  using namespace migration_documents;
  const auto breaking = breaking_migrations();
  CHECK(breaking.contains("0023"));
  CHECK(numbers_in("operations.md", R"(what the old programs use \([^)]*\))") == breaking);
  CHECK(numbers_in("changelog.md", R"(Migrations [^;]* rename or drop tables)") == breaking);
}

}  // namespace
}  // namespace remotist
