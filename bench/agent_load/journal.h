// What a checker needs to know of a run, appended to a file. One line an event, times in microseconds since
// 1970:
//
//   assigned <job> <attempt> <time>                     the market gave it to one of these machines
//   acknowledged <job> <attempt> completed <time>       the market acknowledged its completed outcome
//   stopped <job> <attempt>                             the market said that the attempt is over
//
// An attempt that is assigned again has a line each time. An attempt that is stopped while its outcome is
// under way is not acknowledged here, even if the market had committed it (as it may after --lie).
//
// Lines are given to the kernel whole: whoever kills this process loses the lines since the last flush() and
// never finds half of one, unless the disc is full. Not thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "core/protocol.h"

namespace remotist::bench {

class Journal {
 public:
  // Writes nothing.
  Journal() = default;
  // With `at_once` every line is flushed by itself. Throws std::runtime_error when the file cannot be opened.
  Journal(std::string path, bool at_once);
  ~Journal();  // flushes; a fault is told on standard error
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // These and flush() throw std::runtime_error when the file cannot be written.
  void assigned(const protocol::AttemptName& attempt);
  void acknowledged(const protocol::AttemptName& attempt);
  void stopped(const protocol::AttemptName& attempt);
  void flush();

 private:
  void add(std::string_view event, const protocol::AttemptName& attempt, std::string_view more, bool timed);

  std::string path_;
  int file_ = -1;
  bool at_once_ = false;
  std::string waiting_;
};

}  // namespace remotist::bench
