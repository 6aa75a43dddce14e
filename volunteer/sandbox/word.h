// What a guest says in a frame's head, as a value; and the same the other way, for the runner.
//
// Until `began` the runner's own code speaks. After it every frame may be the job's forgery: a frame that is
// not exactly one of these, within these sizes, is no word at all.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace remotist::volunteer {

inline constexpr std::size_t kTracebackLinesMax = 50;
inline constexpr std::size_t kTracebackLineBytesMax = 300;
inline constexpr std::size_t kCallBytesMax = 1000;

struct Began {};
struct Refused {  // the sandbox could not be set up
  std::string message;
};
struct Progressed {
  double fraction;
  std::string message;
};
struct Completed {};
struct Failed {
  std::string message;
  std::string call{};
  std::vector<std::string> traceback{};
};
using Word = std::variant<Began, Refused, Progressed, Completed, Failed>;

// The head of a frame. Texts are cut to their limits and made UTF-8.
std::string head_of(const Word& word);
// None when it is anything else, or has a field that is not known.
std::optional<Word> word_in(std::string_view head);

}  // namespace remotist::volunteer
