// Runs scripts in a real sandbox, with and without watched variables, and collects their events.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "volunteer/sandbox/sandbox.h"

namespace remotist::volunteer::watched {

struct Record {
  GuestRecord sent;
  std::string stream;  // the value, from the record or its file
};

struct Run {
  Verdict verdict;
  std::string log;
  std::vector<Record> records;
  std::vector<CheckpointTaken> checkpoints{};
  bool resumed = false;
  std::vector<std::string> not_resumable{};  // reasons
  std::vector<std::string> refusals{};       // likewise
  std::shared_ptr<JobDisc> disc{};           // of the folder, if it has one
  std::filesystem::path folder;              // removed by ~TestSandbox

  std::vector<Record> of(std::size_t variable) const;
};

class TestSandbox {
 public:
  TestSandbox();
  ~TestSandbox();
  TestSandbox(const TestSandbox&) = delete;
  TestSandbox& operator=(const TestSandbox&) = delete;

  // Runs it to its end. Throws std::runtime_error when that takes more than two minutes.
  Run run(std::string_view script, std::vector<std::string> names = {},
          GuestLimits limits = generous_limits(), const std::vector<std::filesystem::path>& files = {});
  // The same, but no event is read until the script has made a file.
  Run run_unread(std::string_view script, std::vector<std::string> names, std::string_view until_file);
  // The guest is stopped for 30 ms again and again, as on a busy machine.
  Run run_with_pauses(std::string_view script, std::vector<std::string> names);
  // The same for a guest that takes checkpoints.
  struct ResumableOptions {
    std::vector<std::string> names{};
    std::int64_t every_ms = 0;
    std::filesystem::path from{};
    std::string ask_at_file{};           // asks for a checkpoint once the script has made this file
    bool stop_at_checkpoint = false;     // ends it when it has taken one
    std::optional<ResumeFrom> resume{};  // in place of `from`
    GuestLimits limits = generous_limits();
    std::vector<std::filesystem::path> files{};  // that the job has besides its script
    std::vector<std::string> out{};              // empty files in its out folder
    bool on_disc = false;                        // the folder has a file system of its own
    // Called at each checkpoint, with the sandbox and the guest's name.
    std::function<void(Sandbox&, const std::string&, const CheckpointTaken&)> at_checkpoint{};
  };
  Run run_resumable(std::string_view script, const ResumableOptions& options);
  static GuestLimits generous_limits();

 private:
  GuestSpec prepare(std::string_view script, std::vector<std::string> names, GuestLimits limits,
                    bool on_disc = false);
  void take_events(const GuestSpec& spec, Run& run, bool& over, int wait_ms = 500);
  Run run_to_end(const GuestSpec& spec, Run run);

  std::filesystem::path guests_;
  std::unique_ptr<Sandbox> sandbox_;
  int count_ = 0;
};

// The bytes of a file; empty when there is none.
std::string text_of(const std::filesystem::path& path);

// Shared by all tests of the program.
TestSandbox& sandbox();

// Standard output of an R expression over the records of one variable: v is the list of the values in order
// (NULL for a removal, list(problem = text) for a problem); n, changes and at_us are vectors.
std::string r_output(const Run& run, std::size_t variable, const std::string& expression);
// Standard output of an R script for which ../out is the folder with the result.
std::string r_output_in_folder(const Run& run, const std::string& script);

}  // namespace remotist::volunteer::watched
