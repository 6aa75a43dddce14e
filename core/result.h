// Result<T>: a value, or a refusal that the caller can act on.
//
// Refusals are data and travel by return value; faults (a lost database, a bug) are exceptions and are caught
// once, at the edge of a request, a message or a process.
#pragma once

#include <concepts>
#include <expected>
#include <string>
#include <utility>

#include "core/code.h"

namespace remotist {

struct Refusal {
  Code code;
  std::string detail;  // what happened, why, and what to do: for a person
  std::string field;   // the JSON field at fault, as a path ("watch[2]"), or empty
};

inline Refusal refuse(Code code, std::string detail, std::string field = {}) {
  return Refusal{code, std::move(detail), std::move(field)};
}

template <class T>
class [[nodiscard]] Result {
 public:
  template <class U = T>
    requires(!std::same_as<std::remove_cvref_t<U>, Result> &&
             !std::same_as<std::remove_cvref_t<U>, Refusal> && std::constructible_from<T, U>)
  Result(U&& value) : held_(std::forward<U>(value)) {}
  Result(Refusal refusal) : held_(std::unexpect, std::move(refusal)) {}

  explicit operator bool() const { return held_.has_value(); }
  bool ok() const { return held_.has_value(); }

  // Requires ok().
  T& value() & { return held_.value(); }
  const T& value() const& { return held_.value(); }
  T&& value() && { return std::move(held_).value(); }
  T* operator->() { return &held_.value(); }
  const T* operator->() const { return &held_.value(); }
  T& operator*() & { return held_.value(); }
  const T& operator*() const& { return held_.value(); }

  // Requires !ok().
  const Refusal& refusal() const { return held_.error(); }

 private:
  std::expected<T, Refusal> held_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Refusal refusal) : held_(std::unexpect, std::move(refusal)) {}

  explicit operator bool() const { return held_.has_value(); }
  bool ok() const { return held_.has_value(); }
  const Refusal& refusal() const { return held_.error(); }

 private:
  std::expected<void, Refusal> held_;
};

}  // namespace remotist
