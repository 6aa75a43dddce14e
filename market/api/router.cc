#include "market/api/router.h"

#include <cstdlib>

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
  for (const auto part : parts_of(path)) {
    if (const auto exact = node->exact.find(part); exact != node->exact.end()) {
      node = exact->second.get();
    } else if (node->value && !part.empty()) {
      match.values.emplace_back(part);
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
