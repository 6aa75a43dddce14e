// What holds of the rule for paths whatever a file is called. The fuzzer looks for bytes that break it, and
// the unit tests try again all that were found.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/file_path.h"
#include "core/limits.h"

namespace remotist::fuzz {

// Of a part that was escaped.
inline std::string percent_decoded(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'A' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%' || i + 2 >= text.size()) {
      bytes += text[i];
    } else {
      bytes += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    }
  }
  return bytes;
}

inline std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(mark);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

inline std::string path_broken_by(std::string_view path) {
  const auto kept = kept_file_path(path);
  if (is_file_path(path) != (kept == path)) return "an acceptable path is not kept as it is";
  if (!kept) return {};
  if (!is_file_path(*kept) || kept->size() > limits::kPathBytesMax)
    return "an escaped path is not acceptable";
  // Escaping can be undone, part for part, so no two escaped paths are the same.
  const auto before = split(path, '/');
  const auto after = split(*kept, '/');
  if (before.size() != after.size()) return "an escaped path has another number of parts";
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] != after[i] && percent_decoded(after[i]) != before[i]) return "escaping cannot be undone";
  }
  return {};
}

// Whether one is the other, or a folder of it.
inline bool stand_in_the_way(const std::string& one, const std::string& other) {
  return one == other || one.starts_with(other + "/") || other.starts_with(one + "/");
}

inline constexpr std::size_t kPathsMax = 8;

// What is wrong with the rule; empty when nothing is. The bytes are paths, one a zero byte.
inline std::string paths_broken_by(std::string_view bytes) {
  FileTree tree;
  std::vector<std::string> there;
  std::size_t tried = 0;
  for (const auto path : split(bytes, '\0')) {
    if (auto broken = path_broken_by(path); !broken.empty()) return broken;
    const auto other = tree.add(path);
    const auto in_the_way = [&](const std::string& each) {
      return stand_in_the_way(each, std::string{path});
    };
    if (other.has_value() != std::ranges::any_of(there, in_the_way))
      return "a tree takes what it should not, or not what it should";
    if (other && !in_the_way(*other)) return "a tree names a path that is not in the way";
    if (!other) there.emplace_back(path);
    if (++tried == kPathsMax) break;
  }
  return path_broken_by(bytes);  // with its zero bytes
}

}  // namespace remotist::fuzz
