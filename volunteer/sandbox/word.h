// What a guest says in a frame's head, as a value; and the same the other way, for the runner.
//
// Until `began` the runner's own code speaks. After it every frame may be the job's forgery: a frame that is
// not exactly one of these, within these sizes, is no word at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace remotist::volunteer {

inline constexpr std::size_t kTracebackLinesMax = 50;
inline constexpr std::size_t kTracebackLineBytesMax = 300;
inline constexpr std::size_t kCallBytesMax = 1000;
// A value that is too large for a frame is in a file of the guest's out folder, called so and a number.
inline constexpr std::string_view kPartialFilePrefix = "partial-";
bool is_partial_file_name(std::string_view name);

struct Began {};
struct Refused {  // the sandbox could not be set up
  std::string message;
};
struct Progressed {
  double fraction;
  std::string message;
};
struct Changed {  // a watched variable; the frame's body is its value, if that is small
  enum class Kind { value, removed, problem };
  std::size_t variable = 0;
  std::uint64_t number = 0;
  std::uint64_t changes = 0;
  std::int64_t at_us = 0;
  Kind kind = Kind::value;
  std::string file{};
  std::string words{};
};
struct Checkpointed {  // kCheckpointFile in the out folder is a new one
  std::uint64_t number = 0;
};
struct Completed {};
struct Failed {
  std::string message;
  std::string call{};
  std::vector<std::string> traceback{};
};
using Word = std::variant<Began, Refused, Progressed, Changed, Checkpointed, Completed, Failed>;

// The head of a frame. Texts are cut to their limits and made UTF-8.
std::string head_of(const Word& word);
// None when it is anything else, or has a field that is not known.
std::optional<Word> word_in(std::string_view head);

}  // namespace remotist::volunteer
