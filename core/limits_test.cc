// Compares docs/limits.md with the sources that it describes. Both are read as text, because a constant that
// the document lacks can only be found in the text of its header.
#include "core/limits.h"

#include <cctype>
#include <cmath>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/watch_name.h"

namespace remotist {
namespace {

namespace limits_document {

std::string text_of(const std::string& name) {
  std::ifstream in{std::filesystem::path{REMOTIST_SOURCE_DIR} / name, std::ios::binary};
  if (!in) throw std::runtime_error{name + " cannot be read"};
  return {std::istreambuf_iterator<char>{in}, {}};
}

// What follows from a name about its value: kRamMbMax, RAM_MB_MAX and ram_mb_max are a number of MiB.
std::set<std::string> words_of(const std::string& name) {
  std::set<std::string> words;
  std::string word;
  for (const char letter : name + "_") {
    const bool first = std::isupper(static_cast<unsigned char>(letter)) != 0 && !word.empty() &&
                       std::islower(static_cast<unsigned char>(word.back())) != 0;
    if (letter == '_' || first) words.insert(std::exchange(word, ""));
    if (letter != '_') word += letter;
  }
  std::set<std::string> lower;
  for (auto each : words) {
    for (auto& letter : each) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    lower.insert(each);
  }
  return lower;
}

struct Unit {
  std::string dimension;
  double size = 1;
};

Unit unit_of(const std::string& name) {
  static const std::map<std::string, Unit> units{
      {"bytes", {"bytes", 1}},       {"mb", {"bytes", 1 << 20}}, {"seconds", {"seconds", 1}},
      {"days", {"seconds", 86'400}}, {"ms", {"seconds", 1e-3}},  {"us", {"seconds", 1e-6}},
      {"micro", {"credits", 1e-6}},
  };
  const auto words = words_of(name);
  for (const auto& [word, unit] : units) {
    if (words.contains(word)) return unit;
  }
  return {"", 1};
}

// The constants and default values that one source declares, as C++ or R writes them.
class Declarations {
 public:
  Declarations() = default;
  explicit Declarations(const std::string& file) {
    const auto text = std::regex_replace(text_of(file), std::regex{"//[^\n]*"}, "");
    static const std::regex cpp{R"(\b(?:double|int|std::\w+)\s+(\w+)\s*=\s*([^;{}]+);)"};
    static const std::regex r{R"((?:^|\n)(\w+) <- ([^\n{]+)(?=\n))"};
    const auto& pattern = file.ends_with(".R") ? r : cpp;
    for (std::sregex_iterator each{text.begin(), text.end(), pattern}; each != std::sregex_iterator{};
         ++each) {
      expressions_[(*each)[1]] = (*each)[2];
    }
  }

  bool has(const std::string& name) const { return expressions_.contains(name); }
  const std::map<std::string, std::string>& expressions() const { return expressions_; }
  void add(const Declarations& other) {
    expressions_.insert(other.expressions_.begin(), other.expressions_.end());
  }

  double value(const std::string& name) const {
    const auto found = expressions_.find(name);
    if (found == expressions_.end()) throw std::runtime_error{name + " is not declared"};
    Parser parser{*this, found->second};
    return parser.all();
  }

 private:
  // Numbers, names of other constants, parentheses and ^ * + - << with the precedence of C++; ^ is R's power.
  struct Parser {
    const Declarations& names;
    const std::string& text;
    std::size_t at = 0;

    double all() {
      const double result = shifts();
      if (skip(""); at != text.size()) throw std::runtime_error{"cannot compute " + text};
      return result;
    }
    bool skip(std::string_view token) {
      while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
      if (token.empty() || !std::string_view{text}.substr(at).starts_with(token)) return false;
      at += token.size();
      return true;
    }
    double shifts() {
      double left = sums();
      while (skip("<<")) left = std::ldexp(left, static_cast<int>(sums()));
      return left;
    }
    double sums() {
      double left = products();
      for (;;) {
        if (skip("+")) {
          left += products();
        } else if (skip("-")) {
          left -= products();
        } else {
          return left;
        }
      }
    }
    double products() {
      double left = powers();
      while (skip("*")) left *= powers();
      return left;
    }
    double powers() {
      const double base = primary();
      return skip("^") ? std::pow(base, powers()) : base;
    }
    double primary() {
      if (skip("(")) {
        const double inner = shifts();
        if (!skip(")")) throw std::runtime_error{"no ) in " + text};
        return inner;
      }
      static const std::regex token{R"((?:limits::)?([A-Za-z_]\w*)|(\d[\d'.]*)(?:U?L{0,2})\b)"};
      std::smatch found;
      if (!std::regex_search(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), found, token,
                             std::regex_constants::match_continuous)) {
        throw std::runtime_error{"cannot compute " + text};
      }
      at += static_cast<std::size_t>(found.length());
      if (found[1].matched) return names.value(found[1]);
      return std::stod(std::regex_replace(found[2].str(), std::regex{"'"}, ""));
    }
  };

  std::map<std::string, std::string> expressions_;
};

// What the document says about one name.
struct Entry {
  std::string name;   // kName, Class::kName, REMOTIST_MARKET_NAME or name_in_r
  std::string value;  // 1 MiB + 64 KiB
};

std::vector<std::string> split(const std::string& text) {  // at commas that are not in a number
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (auto end = text.find(", "); end != std::string::npos; end = text.find(", ", begin)) {
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 2;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::vector<Entry> entries() {
  std::vector<Entry> found;
  std::istringstream lines{text_of("docs/limits.md")};
  static const std::regex row{R"(\| (.*) \| (.*) \| (.*) \|)"};
  static const std::regex name{"`([^`]*)`"};
  static const std::regex inner{R"(`(k\w+)` \(([^)]*)\))"};  // another limit in the explanation of one
  for (std::string line; std::getline(lines, line);) {
    if (std::smatch cells; std::regex_match(line, cells, row) && line.starts_with("| `")) {
      const auto names = split(cells[1]);
      const auto values = split(cells[2]);
      if (names.size() != values.size()) throw std::runtime_error{"a value for each name: " + line};
      for (std::size_t i = 0; i < names.size(); ++i) {
        std::smatch quoted;
        if (!std::regex_match(names[i], quoted, name)) throw std::runtime_error{"not a name: " + names[i]};
        found.push_back({quoted[1], values[i]});
      }
    }
    for (std::sregex_iterator each{line.begin(), line.end(), inner}; each != std::sregex_iterator{}; ++each) {
      found.push_back({(*each)[1], (*each)[2]});
    }
  }
  return found;
}

// The value in the document, in units of `unit`. A number without a unit is taken as it stands. Words may
// follow after "of".
double value_in_document(const std::string& text, const Unit& unit) {
  static const std::map<std::string, Unit> units{
      {"KiB", {"bytes", 1 << 10}}, {"MiB", {"bytes", 1 << 20}},  {"GiB", {"bytes", 1 << 30}},
      {"MB", {"bytes", 1 << 20}},  {"TB", {"bytes", 1LL << 40}}, {"ms", {"seconds", 1e-3}},
      {"s", {"seconds", 1}},       {"minutes", {"seconds", 60}}, {"days", {"seconds", 86'400}},
      {"%", {"", 0.01}},           {"credits", {"credits", 1}},
  };
  static const std::regex term{
      R"((?:(1)/(\d+)|10\^(\d+)|([\d,.]+))(?: (?!of )([A-Za-z%]+))?(?: \+ (?=\d)| of .*|$))"};
  double sum = 0;
  auto at = text.begin();
  std::smatch found;
  do {
    if (!std::regex_search(at, text.end(), found, term, std::regex_constants::match_continuous)) {
      throw std::runtime_error{"not a value: " + text};
    }
    double number = 0;
    if (found[1].matched) {
      number = 1 / std::stod(found[2]);
    } else if (found[3].matched) {
      number = std::pow(10, std::stod(found[3]));
    } else {
      number = std::stod(std::regex_replace(found[4].str(), std::regex{","}, ""));
    }
    if (found[5].matched) {
      const auto written = units.find(found[5]);
      if (written == units.end() || written->second.dimension != unit.dimension) {
        throw std::runtime_error{"unit of " + text};
      }
      number *= written->second.size / unit.size;
    }
    sum += number;
    at = found[0].second;
  } while (at != text.end());
  return sum;
}

// The sources of the limits that do not stand in core/limits.h.
const std::map<std::string, std::string>& other_headers() {
  static const std::map<std::string, std::string> files{
      {"AgentOptions", "volunteer/agent/agent.h"},
      {"Attempts", "volunteer/agent/attempts.h"},
      {"CheckpointSchedule", "volunteer/agent/checkpoint_schedule.h"},
      {"Credits", "core/credits.h"},
      {"GuestLimits", "volunteer/sandbox/guest.h"},
      {"JobDiscs", "volunteer/sandbox/job_disc.h"},
      {"ScanBudget", "volunteer/sandbox/scan_budget.h"},
      {"WatchedRecordQueue", "volunteer/agent/watched_records.h"},
  };
  return files;
}

Declarations limits_of_all() {
  Declarations all{"core/limits.h"};
  all.add(Declarations{"core/watch_name.h"});
  return all;
}

// Without limits.R, which script/limits writes from headers.
Declarations limits_of_the_r_package() {
  Declarations all;
  for (const auto& file :
       std::filesystem::directory_iterator{std::filesystem::path{REMOTIST_SOURCE_DIR} / "client-r/R"}) {
    if (const auto name = file.path().filename(); name.extension() == ".R" && name != "limits.R") {
      all.add(Declarations{"client-r/R/" + name.string()});
    }
  }
  return all;
}

std::string setting_of(const std::string& name) {  // REMOTIST_MARKET_UNREAD_MB_MAX becomes unread_mb_max
  std::string setting = name.substr(std::string_view{"REMOTIST_MARKET_"}.size());
  for (auto& letter : setting) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return setting;
}

double value_in_source(const std::string& name) {
  static const Declarations common = limits_of_all();
  static const Declarations folder{"volunteer/sandbox/folder.h"};
  static const Declarations market = [] {
    Declarations found{"market/config.h"};
    found.add(common);
    return found;
  }();
  static const Declarations in_r = [] {
    Declarations found{"client-r/R/limits.R"};
    found.add(limits_of_the_r_package());
    return found;
  }();
  if (name.starts_with("REMOTIST_MARKET_")) return market.value(setting_of(name));
  if (const auto colons = name.find("::"); colons != std::string::npos) {
    return Declarations{other_headers().at(name.substr(0, colons))}.value(name.substr(colons + 2));
  }
  if (!name.starts_with("k")) return in_r.value(name);
  return folder.has(name) ? folder.value(name) : common.value(name);
}

TEST_CASE("every limit in docs/limits.md has the value that the source has") {
  for (const auto& [name, text] : entries()) {
    CAPTURE(name);
    CAPTURE(text);
    try {
      double wanted = value_in_source(name);
      if (words_of(name).contains("share") && wanted > 1) wanted = 1 / wanted;  // kJobResultsShare = 4: 1/4
      CHECK(value_in_document(text, unit_of(name)) == doctest::Approx(wanted).epsilon(1e-15));
    } catch (const std::exception& problem) {
      FAIL_CHECK(std::string{problem.what()});
    }
  }
}

TEST_CASE("docs/limits.md has every limit of core/limits.h and core/watch_name.h once") {
  std::map<std::string, int> described;
  const Declarations market{"market/config.h"};
  for (const auto& [name, text] : entries()) {
    ++described[name];
    if (!name.starts_with("REMOTIST_MARKET_")) continue;
    // A setting's default stands for the constant that it is.
    static const std::regex constant{R"(limits::(\w+))"};
    std::smatch found;
    const auto setting = market.expressions().find(setting_of(name));
    REQUIRE_MESSAGE(setting != market.expressions().end(), name);
    if (std::regex_match(setting->second, found, constant)) ++described[found[1]];
  }
  for (const auto& [name, times] : described) CHECK_MESSAGE(times == 1, name);
  const auto all = limits_of_all();
  for (const auto& [name, expression] : all.expressions()) {
    if (name.starts_with("k")) CHECK_MESSAGE(described.contains(name), name);
  }
  const auto document = text_of("docs/limits.md");
  static const std::regex mentioned{R"(`(k\w+)`)"};
  for (std::sregex_iterator each{document.begin(), document.end(), mentioned}; each != std::sregex_iterator{};
       ++each) {
    CHECK_MESSAGE(described.contains((*each)[1]), (*each)[1].str());
  }
}

TEST_CASE("docs/limits.md has every limit of the R package that its sources declare") {
  std::set<std::string> described;
  for (const auto& [name, text] : entries()) described.insert(name);
  int limits = 0;
  const auto package = limits_of_the_r_package();
  for (const auto& [name, expression] : package.expressions()) {
    if (!(name.ends_with("_max") || name.ends_with("_min")) || expression.starts_with("function")) continue;
    CHECK_MESSAGE(described.contains(name), name);
    ++limits;
  }
  CHECK(limits > 10);
}

TEST_CASE("the test of docs/limits.md computes constants as the compiler does, and reads units") {
  const auto all = limits_of_all();
  CHECK(all.value("kBodyBytesMax") == limits::kBodyBytesMax);
  CHECK(all.value("kUploadingSecondsMax") == limits::kUploadingSecondsMax);
  CHECK(all.value("kRecordInlineBytesMax") == limits::kRecordInlineBytesMax);
  CHECK(all.value("kWatchedTimeShare") == limits::kWatchedTimeShare);
  CHECK(all.value("kWatchedFileBytesMax") == limits::kWatchedFileBytesMax);
  CHECK(all.value("kHistoryBytesMax") == limits::kHistoryBytesMax);
  CHECK(all.value("kWatchIndexMax") == static_cast<double>(kWatchIndexMax));
  CHECK(all.expressions().size() > 100);
  CHECK(entries().size() > 120);

  CHECK(value_in_document("1 MiB + 64 KiB", unit_of("kBodyBytesMax")) == limits::kBodyBytesMax);
  CHECK(value_in_document("15 minutes", unit_of("kLoginFailureSeconds")) == 900);
  CHECK(value_in_document("4 TB", unit_of("kRamMbMax")) == limits::kRamMbMax);
  CHECK(value_in_document("50 ms", unit_of("kWatchedTimeBurstUs")) == doctest::Approx(50'000));
  CHECK(value_in_document("1/4 of that storage", unit_of("kJobResultsShare")) == 0.25);
  CHECK(value_in_document("10^15", unit_of("kRecordCountMax")) == 1e15);
  CHECK_THROWS(value_in_document("10 s", unit_of("kFrameBytesMax")));
  CHECK_THROWS(value_in_document("ten", unit_of("kFrameBytesMax")));
  CHECK_THROWS(value_in_document("", unit_of("kFrameBytesMax")));
}

}  // namespace limits_document

}  // namespace
}  // namespace remotist
