#include "core/file_path.h"

#include <algorithm>
#include <ranges>

#include "core/limits.h"
#include "core/utf8.h"

namespace remotist {
namespace {

bool is_plain(std::string_view part) {
  return is_utf8(part) && !has_control_characters(part) && !part.contains('\\');
}

// One character at a time: of a part that is no UTF-8 what is readable stays readable.
std::string encoded(std::string_view part) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  while (!part.empty()) {
    std::size_t bytes = 1;
    while (bytes < 4 && bytes < part.size() && !is_utf8(part.substr(0, bytes))) ++bytes;
    if (!is_utf8(part.substr(0, bytes))) bytes = 1;
    const auto character = part.substr(0, bytes);
    if (is_plain(character) && character != "%") {
      text.append(character);
    } else {
      for (const char c : character) {
        const auto byte = static_cast<unsigned char>(c);
        text.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
      }
    }
    part.remove_prefix(bytes);
  }
  return text;
}

auto parts_of(std::string_view path) {
  return path | std::views::split('/') |
         std::views::transform([](auto part) { return std::string_view{part}; });
}

}  // namespace

bool leads_elsewhere(std::string_view path) {
  return path.empty() || std::ranges::any_of(parts_of(path), [](std::string_view part) {
           return part.empty() || part == "." || part == "..";
         });
}

bool is_file_path(std::string_view path) {
  if (path.size() > limits::kPathBytesMax || !is_plain(path)) return false;
  return !leads_elsewhere(path);
}

std::optional<std::string> kept_file_path(std::string_view path) {
  if (is_file_path(path)) return std::string{path};
  std::string kept;
  for (const auto part : parts_of(path)) {
    if (!kept.empty()) kept += '/';
    kept += is_plain(part) ? std::string{part} : encoded(part);
    if (leads_elsewhere(part) || kept.size() > limits::kPathBytesMax) return std::nullopt;
  }
  if (kept.empty()) return std::nullopt;
  return kept;
}

std::optional<std::string> FileTree::add(std::string_view path) {
  if (paths_.contains(path)) return std::string{path};
  for (auto slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/', slash + 1)) {
    if (const auto folder = paths_.find(path.substr(0, slash)); folder != paths_.end()) return *folder;
  }
  const auto below = std::string{path} + "/";
  if (const auto first = paths_.lower_bound(below); first != paths_.end() && first->starts_with(below))
    return *first;
  paths_.emplace(path);
  return std::nullopt;
}

}  // namespace remotist
