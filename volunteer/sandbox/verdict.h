// How a guest ended, judged from what the host saw and what the guest said. Pure.
#pragma once

#include <optional>
#include <string>

#include "volunteer/sandbox/guest.h"
#include "volunteer/sandbox/word.h"

namespace remotist::volunteer {

// What is known of a guest when all its processes are gone.
struct Evidence {
  bool began = false;                    // it came as far as the script
  std::optional<std::string> refused{};  // why it did not
  std::optional<Word> last_word{};       // Completed or Failed: the first one that it said
  std::optional<int> wait_status{};      // of the job's process; none when its first process was killed
  bool stopped = false;                  // the host was asked to end it
  std::string limit{};                   // the host ended it at this limit
  std::string limit_words{};
  std::string full{};  // disc or inodes: its own file system was full
  std::string full_words{};
  bool out_of_memory = false;  // the kernel killed for want of memory
  bool result_there = false;   // a regular file with the result's name
  bool zygote_lost = false;
};

// Everything but the measurements and the files.
Verdict judge(const Evidence& evidence);

}  // namespace remotist::volunteer
