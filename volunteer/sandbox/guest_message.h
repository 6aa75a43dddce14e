// The messages of a guest, which are sent as the heads of frames, and their encoding as JSON.
//
// Until Began they come from the runner's own code. After it the job may have forged them: a head that is not
// exactly one of these messages, within these sizes, is rejected. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "volunteer/sandbox/guest.h"
#include "volunteer/sandbox/guest_record.h"

namespace remotist::volunteer {

inline constexpr std::size_t kTracebackLinesMax = 50;
inline constexpr std::size_t kTracebackLineBytesMax = 300;
inline constexpr std::size_t kCallBytesMax = 1000;
// A value that is too large for a frame is in a file of the out folder: this prefix and a number.
inline constexpr std::string_view kWatchedFilePrefix = "watched-";
bool is_watched_file_name(std::string_view name);
// Of a checkpoint in the out folder.
std::string checkpoint_file_name(std::uint64_t number);

struct Began {};  // every protection is in place; the script starts
struct Refused {  // the sandbox could not be set up
  std::string message;
};
struct Progressed {
  double fraction;
  std::string message;
};
// A checkpoint, by its number (checkpoint_marks.h).
struct CheckpointBegun {  // its state is captured right after this
  std::uint64_t number = 0;
};
struct WatchedMarks {  // the newest record of each watched variable before it
  std::uint64_t number = 0;
  std::vector<WatchedMark> marks{};
};
struct Checkpointed {  // checkpoint_file_name() in the out folder is complete
  std::uint64_t number = 0;
  double pause_ms = 0;
  double child_cpu_ms = 0;
};
struct ResumeFailed {  // in place of Resumed; the process then exits
  std::string reason;
};
struct Completed {};
struct Failed {  // by an R error
  std::string message;
  std::string call{};
  std::vector<std::string> traceback{};
};
using GuestMessage =
    std::variant<Began, Refused, Progressed, GuestRecord, CheckpointBegun, WatchedMarks, Checkpointed,
                 CheckpointRefused, NotResumable, Resumed, ResumeFailed, Completed, Failed>;

// The head of a frame; the body of a GuestRecord's is its record's bytes. Texts are truncated to their limits
// and made valid UTF-8.
std::string encode(const GuestMessage& message);
// None when the head is not a message, or a field is unknown, missing or out of range.
std::optional<GuestMessage> parse_guest_message(std::string_view head);

}  // namespace remotist::volunteer
