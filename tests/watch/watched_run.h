// Runs scripts in a guesthouse with the whole sandbox up, with and without watched names, and keeps all that
// was said of them.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "volunteer/sandbox/guesthouse.h"

namespace remotist::volunteer::watched {

struct Record {
  PartialValue value;
  std::string stream;  // the value itself, from the record or its file
};

struct Run {
  Verdict verdict;
  std::string log;
  std::vector<Record> records;
  std::size_t checkpoints = 0;
  std::filesystem::path folder;  // stands until the house goes

  std::vector<Record> of(std::size_t variable) const;
};

class WatchHouse {
 public:
  WatchHouse();
  ~WatchHouse();
  WatchHouse(const WatchHouse&) = delete;
  WatchHouse& operator=(const WatchHouse&) = delete;

  // To its end. Throws std::runtime_error when that does not come within a minute or two.
  Run run(std::string_view script, std::vector<std::string> names = {}, GuestLimits limits = roomy(),
          const std::vector<std::filesystem::path>& files = {});
  // The same, but nobody looks after it until the script has made a file.
  Run run_unheard(std::string_view script, std::vector<std::string> names, std::string_view until_file);
  // It is stopped for a moment again and again, as by a busy machine.
  Run run_put_aside(std::string_view script, std::vector<std::string> names);
  // The same of one that can be gone on with.
  struct Resumable {
    std::vector<std::string> names{};
    std::int64_t every_ms = 0;
    std::filesystem::path from{};
    std::string ask_at_file{};        // asks for a checkpoint once the script has made this file
    bool stop_at_checkpoint = false;  // ends it when it has taken one
  };
  Run run_resumable(std::string_view script, const Resumable& wish);
  static GuestLimits roomy();

 private:
  GuestSpec prepare(std::string_view script, std::vector<std::string> names, GuestLimits limits);
  void take_events(const GuestSpec& spec, Run& run, bool& over, int patience_ms = 500);
  Run hear_out(const GuestSpec& spec, Run run);

  std::filesystem::path guests_;
  std::unique_ptr<Guesthouse> guesthouse_;
  int count_ = 0;
};

// One for all tests of the program. None, with words on standard output, where this machine cannot sandbox.
WatchHouse& house();

// What R says of the records' values, as `expression` sees them: v is the list of the unserialised values of
// one variable, in order (NULL for a removal, the words in a list for a problem), n, changes and at_us
// vectors.
std::string r_says(const Run& run, std::size_t variable, const std::string& expression);
// What R says where ../out is the folder with the result.
std::string r_says_of(const Run& run, const std::string& script);

}  // namespace remotist::volunteer::watched
