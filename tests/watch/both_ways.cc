#include "tests/watch/both_ways.h"

#include <algorithm>
#include <format>
#include <fstream>
#include <regex>
#include <sstream>

#include "core/limits.h"
#include "volunteer/runner/watch/canonical_hash.h"

namespace remotist::volunteer::watched {

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream{path, std::ios::binary}.rdbuf();
  return text.str();
}

// Addresses differ from process to process.
std::string without_addresses(const std::string& text) {
  static const std::regex address{"0x[0-9a-f]{6,}"};
  return std::regex_replace(text, address, "0x");
}

Hash hash_of(const fs::path& file) {
  const auto text = text_of(file);
  Pieces stream;
  stream.copy(text.data(), text.size());
  return canonical_hash(stream);
}

std::string which_differ(const BothWays& both, const char* file) {
  const auto other = (both.plain.folder / kOutFolder / file).string();
  return r_says_of(both.watched,
                   std::format("a <- readRDS('{}'); b <- readRDS('../out/{}')\n"
                               "for (n in union(names(a), names(b))) if (!identical(serialize(a[[n]], NULL), "
                               "serialize(b[[n]], NULL))) {{ cat(n, ''); print(all.equal(a[[n]], b[[n]])) }}",
                               other, file));
}

}  // namespace

std::vector<std::string> names_in(const std::string& script) {
  // A name that is assigned to, wherever that is.
  static const std::regex name{
      "(?:^|[^A-Za-z0-9._$@`'\"])(?:`([^`']+)`|([A-Za-z.][A-Za-z0-9._]*))(?:[$@[][^;\n]*?)?\\s*(?:<-|<<-|=[^="
      "])"};
  std::vector<std::string> names;
  for (std::sregex_iterator each{script.begin(), script.end(), name}, end; each != end; ++each) {
    auto found = (*each)[1].matched ? "`" + (*each)[1].str() + "`" : (*each)[2].str();
    if (!std::ranges::contains(names, found) && names.size() < limits::kWatchedVariablesMax)
      names.push_back(std::move(found));
  }
  return names;
}

BothWays run_both_ways(const std::string& script, const std::vector<std::string>& names) {
  BothWays both;
  both.plain = house().run(script);
  both.watched = house().run(script, names);
  const auto compare = [&](std::string_view what, const std::string& plain, const std::string& watched) {
    if (plain == watched) return;
    std::size_t at = 0;
    while (at < plain.size() && at < watched.size() && plain[at] == watched[at]) ++at;
    const auto from = at < 200 ? 0 : at - 200;
    both.differences.push_back(std::format("{} differs at {}:\n--- plain\n{}\n--- watched\n{}", what, at,
                                           plain.substr(from, 500), watched.substr(from, 500)));
  };
  const auto& plain = both.plain.verdict;
  const auto& watched = both.watched.verdict;
  compare("the ending", std::string(name_of(plain.ending)), std::string(name_of(watched.ending)));
  compare("the log", without_addresses(both.plain.log), without_addresses(both.watched.log));
  compare("the error", without_addresses(plain.message), without_addresses(watched.message));
  compare("the error's call", plain.call, watched.call);
  compare("the traceback's length", std::to_string(plain.traceback.size()),
          std::to_string(watched.traceback.size()));
  for (std::size_t i = 0; i < std::min(plain.traceback.size(), watched.traceback.size()); ++i) {
    compare("the traceback", plain.traceback[i], watched.traceback[i]);
  }
  compare("the files", std::format("{}", plain.made.size()), std::format("{}", watched.made.size()));
  const auto* const file = plain.ending == Ending::completed ? kResultFile : kErrorFile;
  const bool same =
      hash_of(both.plain.folder / kOutFolder / file) == hash_of(both.watched.folder / kOutFolder / file);
  if (!same) both.differences.push_back("the values at the end differ: " + which_differ(both, file));
  return both;
}

}  // namespace remotist::volunteer::watched
