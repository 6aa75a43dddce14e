#include "volunteer/runner/watch/canonical_hash.h"

#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace remotist::volunteer::watched {

namespace {

namespace fs = std::filesystem;

Hash hash_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream{file, std::ios::binary}.rdbuf();
  ByteChain stream;
  stream.copy(text.str().data(), text.str().size());
  return canonical_hash(stream);
}

// For each line of R, which must yield a list of two values, their hashes.
std::vector<std::pair<Hash, Hash>> hashes(const std::vector<std::string>& lines) {
  std::string name = (fs::temp_directory_path() / "hash-XXXXXX").string();
  const fs::path folder = ::mkdtemp(name.data());
  {
    std::ofstream script{folder / "make.R"};
    script << "k <- 0\nsave <- function(two) { k <<- k + 1\n"
              "  for (i in 1:2) { f <- file(sprintf('%d-%d', k, i), 'wb')\n"
              "    serialize(two[[i]], f, ascii = FALSE, xdr = i == 2 && k %% 2 == 0); close(f) } }\n";
    for (const auto& line : lines) script << "save(" << line << ")\n";
  }
  REQUIRE(std::system(("cd '" + folder.string() + "' && LC_ALL=C.UTF-8 Rscript --vanilla make.R").c_str()) ==
          0);
  std::vector<std::pair<Hash, Hash>> all;
  for (std::size_t i = 1; i <= lines.size(); ++i) {
    all.emplace_back(hash_of(folder / (std::to_string(i) + "-1")),
                     hash_of(folder / (std::to_string(i) + "-2")));
  }
  fs::remove_all(folder);
  return all;
}

}  // namespace

TEST_CASE("values that are identical to R have the same hash, however R represents them") {
  const std::vector<std::string> same{
      "list(1:10, c(1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L, 10L))",
      "list(0 / 0, NaN)",
      "list(0, -0)",
      "list(c(a = NA_real_), c(a = NA_real_))",
      "list('gr\\u00fc\\u00df', iconv('gr\\u00fc\\u00df', 'UTF-8', 'latin1'))",
      "list(structure(1, p = 1, q = 2), structure(1, q = 2, p = 1))",
      "list(data.frame(a = 1:3), structure(list(a = c(1L, 2L, 3L)), row.names = c(1L, 2L, 3L), class = "
      "'data.frame'))",
      "list(as.environment(list(a = 1, b = 2)), as.environment(list(b = 2, a = 1)))",
      "list(function(x) x + 1, compiler::cmpfun(function(x) x + 1))",
      "list(eval(parse(text = 'function(x) {x}', keep.source = TRUE)), eval(parse(text = 'function(x) {x}', "
      "keep.source = FALSE)))",
      "list(sort(c(3, 1, 2)), c(1, 2, 3))",
      "list(list(1, 'a', NULL, 2i, as.raw(1:20), TRUE), list(1, 'a', NULL, 2i, as.raw(1:20), TRUE))",
      "list(quote(f(x, y = 2)), quote(f(x, y = 2)))",
      "list(methods::new('numeric'), numeric())",
      "list(factor(c('a', 'b')), factor(c('a', 'b')))",
      "{ e <- new.env(); e$self <- e; list(e, e) }",
      "list(y ~ x + z, y ~ x + z)",
      "list(runif, runif)",
  };
  const auto all = hashes(same);
  for (std::size_t i = 0; i < same.size(); ++i) {
    CAPTURE(same[i]);
    CHECK(all[i].first == all[i].second);
  }
}

TEST_CASE("values that differ have different hashes") {
  const std::vector<std::string> different{
      "{ b <- 'gr\\u00fc\\u00df'; Encoding(b) <- 'bytes'; list('gr\\u00fc\\u00df', b) }",
      "list(1, 2)",
      "list(1L, 1)",
      "list(NA_real_, NaN)",
      "list(NA, NA_integer_)",
      "list('a', 'b')",
      "list('NA', NA_character_)",
      "list(list(1, 2), list(2, 1))",
      "list(c(a = 1, b = 2), c(b = 1, a = 2))",
      "list(1:10, 1:11)",
      "list(structure(1, p = 1), 1)",
      "list(NULL, list())",
      "list(list(), list(NULL))",
      "list(as.environment(list(a = 1)), as.environment(list(a = 2)))",
      "list(function(x) x + 1, function(x) x + 2)",
      "list(quote(f(x)), quote(f(y)))",
      "list(c('ab', 'c'), c('a', 'bc'))",
      "list(as.raw(1:9), as.raw(c(1:8, 10)))",
      "list(1e6 + seq_len(2e5), 1e6 + c(seq_len(2e5 - 1), 7))",
      "list(factor(c('a', 'b')), factor(c('b', 'a')))",
      "list(1+2i, 2+1i)",
  };
  const auto all = hashes(different);
  for (std::size_t i = 0; i < different.size(); ++i) {
    CAPTURE(different[i]);
    CHECK_FALSE(all[i].first == all[i].second);
  }
}

TEST_CASE("a hash does not depend on how a stream is divided into segments") {
  const std::string head = std::string("B\n\x03\0\0\0\0\x05\x04\0\0\x05\x03\0\x05\0\0\0UTF-8", 23);
  const std::string vector = std::string("\x0e\0\0\0\x02\0\0\0", 8);
  const double two[2] = {1.5, 2.5};
  ByteChain whole;
  whole.copy(head.data(), head.size());
  whole.copy(vector.data(), vector.size());
  whole.copy(reinterpret_cast<const char*>(two), sizeof two);
  ByteChain parts;
  parts.copy(head.data(), head.size());
  parts.copy(vector.data(), vector.size());
  parts.refer(reinterpret_cast<const char*>(two), 3);
  parts.copy(reinterpret_cast<const char*>(two) + 3, 1);
  parts.refer(reinterpret_cast<const char*>(two) + 4, 12);
  CHECK(whole.size() == parts.size());
  CHECK(canonical_hash(whole) == canonical_hash(parts));
}

TEST_CASE("a stream that is cut off or is none has a hash too") {
  const std::string text = "B\n\x03";
  ByteChain cut;
  cut.copy(text.data(), text.size());
  ByteChain none;
  CHECK_FALSE(canonical_hash(cut) == canonical_hash(none));
}

}  // namespace remotist::volunteer::watched
