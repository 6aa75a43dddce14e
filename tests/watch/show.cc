// Runs a script with watched names in the sandbox and prints each record, to show what watching does
// with a script.
//
//   watch_show SCRIPT NAME…
#include <exception>
#include <format>
#include <fstream>
#include <iostream>
#include <sstream>

#include "tests/watch/watched_run.h"

int main(int count, char** words) {
  using namespace remotist::volunteer;
  if (count < 2) {
    std::cerr << "usage: watch_show SCRIPT NAME…\n";
    return 2;
  }
  try {
    std::ostringstream script;
    script << std::ifstream{words[1]}.rdbuf();
    const auto run = watched::sandbox().run(script.str(), {words + 2, words + count});
    for (const auto& [sent, stream] : run.records) {
      const auto& record = sent.record;
      std::cout << std::format("{} #{} changes={} at={:.3f}s {} {} bytes {} {}\n", words[2 + sent.variable],
                               record.number, record.changes, static_cast<double>(sent.at_us) / 1e6,
                               name_of(record.kind), stream.size(), sent.file, record.words);
    }
    for (std::size_t i = 0; i + 2 < static_cast<std::size_t>(count); ++i) {
      std::cout << words[2 + i] << ": "
                << watched::r_output(run, i,
                                     "cat(deparse(utils::head(v, 8)), '...', deparse(utils::tail(v, 2)))")
                << '\n';
    }
    std::cout << "log:\n"
              << run.log << name_of(run.verdict.ending) << ' ' << run.verdict.message << " cpu "
              << run.verdict.cpu_ms << " ms, ram " << run.verdict.ram_kb_peak / 1024 << " MB\n";
  } catch (const std::exception& error) {
    std::cerr << "watch_show: " << error.what() << '\n';
    return 1;
  }
}
