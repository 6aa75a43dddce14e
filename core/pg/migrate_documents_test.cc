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

// The numbers, such as 0023, of the migrations that rename what older programs use. Those before 0022 are
// older than the upgrade that docs/operations.md describes.
std::set<std::string> renaming_migrations() {
  const std::regex rename{R"(\bRENAME\s+(TO|COLUMN)\b)", std::regex::icase};
  std::set<std::string> numbers;
  for (const auto& entry : std::filesystem::directory_iterator{kSource / "sql" / "migrations"}) {
    const auto number = entry.path().filename().string().substr(0, 4);
    if (number >= "0022" && std::regex_search(content_of(entry.path()), rename)) numbers.insert(number);
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

TEST_CASE("the documents name exactly the migrations that rename tables and columns") {
  using namespace migration_documents;
  const auto renaming = renaming_migrations();
  CHECK(renaming.contains("0023"));
  CHECK(numbers_in("operations.md", R"(columns that the old programs use \([^)]*\))") == renaming);
  CHECK(numbers_in("changelog.md", R"(Migrations [^;]* rename tables)") == renaming);
}

}  // namespace
}  // namespace remotist
