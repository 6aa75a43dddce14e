#include "core/watched_record.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace remotist {
namespace {

constexpr std::array kKinds{WatchedKind::value, WatchedKind::removed, WatchedKind::problem};

}  // namespace

std::span<const WatchedKind> watched_kinds() {
  return kKinds;
}

std::string_view name_of(WatchedKind kind) {
  switch (kind) {
    case WatchedKind::value:
      return "value";
    case WatchedKind::removed:
      return "removed";
    case WatchedKind::problem:
      return "problem";
  }
  std::abort();
}

std::optional<WatchedKind> watched_kind_named(std::string_view name) {
  const auto known = std::ranges::find(kKinds, name, [](WatchedKind kind) { return name_of(kind); });
  return known == kKinds.end() ? std::nullopt : std::optional{*known};
}

}  // namespace remotist
