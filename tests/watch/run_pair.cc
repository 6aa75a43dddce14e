#include "tests/watch/run_pair.h"

#include <algorithm>
#include <format>
#include <regex>

#include "core/limits.h"
#include "volunteer/runner/watch/canonical_hash.h"

namespace remotist::volunteer::watched {

namespace {

namespace fs = std::filesystem;

// Addresses differ from process to process.
std::string without_addresses(const std::string& text) {
  static const std::regex address{"0x[0-9a-f]{6,}"};
  return std::regex_replace(text, address, "0x");
}

Hash hash_of(const fs::path& file) {
  const auto text = text_of(file);
  ByteChain stream;
  stream.copy(text.data(), text.size());
  return canonical_hash(stream);
}

std::string which_differ(const Run& plain, const Run& other, const char* file) {
  return r_output_in_folder(
      other, std::format("a <- readRDS('{}'); b <- readRDS('../out/{}')\n"
                         "for (n in union(names(a), names(b))) if (!identical(serialize(a[[n]], NULL), "
                         "serialize(b[[n]], NULL))) {{ cat(n, ''); print(all.equal(a[[n]], b[[n]])) }}",
                         (plain.folder / kOutFolder / file).string(), file));
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

std::vector<std::string> differences_between(const Run& plain_run, const Run& other_run, Values values) {
  std::vector<std::string> differences;
  const auto compare = [&](std::string_view what, const std::string& plain, const std::string& other) {
    if (plain == other) return;
    std::size_t at = 0;
    while (at < plain.size() && at < other.size() && plain[at] == other[at]) ++at;
    const auto from = at < 200 ? 0 : at - 200;
    differences.push_back(std::format("{} differs at {}:\n--- plain\n{}\n--- other\n{}", what, at,
                                      plain.substr(from, 500), other.substr(from, 500)));
  };
  const auto& plain = plain_run.verdict;
  const auto& other = other_run.verdict;
  compare("the ending", std::string(name_of(plain.ending)), std::string(name_of(other.ending)));
  compare("the log", without_addresses(plain_run.log), without_addresses(other_run.log));
  compare("the error", without_addresses(plain.message), without_addresses(other.message));
  compare("the error's call", plain.call, other.call);
  compare("the traceback's length", std::to_string(plain.traceback.size()),
          std::to_string(other.traceback.size()));
  for (std::size_t i = 0; i < std::min(plain.traceback.size(), other.traceback.size()); ++i) {
    compare("the traceback", plain.traceback[i], other.traceback[i]);
  }
  compare("the files", std::format("{}", plain.made.size()), std::format("{}", other.made.size()));
  const auto* const file = plain.ending == Ending::completed ? kResultFile : kErrorFile;
  const auto result = plain_run.folder / kOutFolder / file;
  if (values == Values::by_hash) {
    if (!(hash_of(result) == hash_of(other_run.folder / kOutFolder / file)))
      differences.push_back("the values at the end differ: " + which_differ(plain_run, other_run, file));
  } else {
    const auto said =
        r_output_in_folder(other_run, std::format("source('{}/tests/checkpoint/compare.R')\n"
                                                  "d <- suppressWarnings(value_differences(readRDS('{}'), "
                                                  "readRDS('../out/{}')))\ncat(d, sep = '\\n')",
                                                  REMOTIST_SOURCE_DIR, result.string(), file));
    if (!said.empty()) differences.push_back("the values at the end differ: " + said);
  }
  return differences;
}

RunPair run_plain_and_watched(const std::string& script, const std::vector<std::string>& names) {
  RunPair pair;
  pair.plain = sandbox().run(script);
  pair.watched = sandbox().run(script, names);
  pair.differences = differences_between(pair.plain, pair.watched, Values::by_hash);
  return pair;
}

}  // namespace remotist::volunteer::watched
