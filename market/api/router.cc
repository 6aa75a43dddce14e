#include "market/api/router.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "core/utf8.h"

namespace remotist::market {
namespace {

// The parts between slashes; a last slash adds none. Empty parts stay, so that they match nothing.
std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  if (path.starts_with('/')) path.remove_prefix(1);
  while (!path.empty()) {
    const auto slash = path.find('/');
    parts.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return parts;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// What a part of a path stands for; none when that is not text.
std::optional<std::string> decoded(std::string_view part) {
  std::string text;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != '%') {
      text += part[i];
      continue;
    }
    const int high = i + 1 < part.size() ? digit_of(part[i + 1]) : -1;
    const int low = i + 2 < part.size() ? digit_of(part[i + 2]) : -1;
    if (high < 0 || low < 0) return std::nullopt;
    text += static_cast<char>(16 * high + low);
    i += 2;
  }
  if (text.contains('\0') || !is_utf8(text)) return std::nullopt;
  // A slash of its own makes a value no way to elsewhere.
  if (text.contains('/') && std::ranges::any_of(parts_of(text), [](auto each) {
        return each.empty() || each == "." || each == "..";
      }))
    return std::nullopt;
  return text;
}

}  // namespace

void Router::add(std::string_view method, std::string_view path, std::size_t route) {
  Node* node = &root_;
  for (const auto part : parts_of(path)) {
    auto& next = part.starts_with('{') ? node->value : node->exact[std::string{part}];
    if (!next) next = std::make_unique<Node>();
    node = next.get();
  }
  if (!node->methods.emplace(method, route).second) std::abort();
}

std::optional<Router::Match> Router::find(std::string_view method, std::string_view path) const {
  if (!path.starts_with('/')) return std::nullopt;
  Match match;
  const Node* node = &root_;
  for (const auto raw : parts_of(path)) {
    auto part = decoded(raw);
    if (!part) return std::nullopt;
    if (const auto exact = node->exact.find(*part); exact != node->exact.end()) {
      node = exact->second.get();
    } else if (node->value && !part->empty()) {
      match.values.push_back(std::move(*part));
      node = node->value.get();
    } else {
      return std::nullopt;
    }
  }
  if (node->methods.empty()) return std::nullopt;
  for (const auto& [name, route] : node->methods) {
    if (!match.allowed.empty()) match.allowed += ", ";
    match.allowed += name;
    if (name == method) match.route = route;
  }
  return match;
}

}  // namespace remotist::market
