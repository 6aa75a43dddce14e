// What holds of watched variables' names, of texts and of the small formats (ids, tokens, chunk names,
// base64) whatever they hold. The fuzzer looks for bytes that break it, and the unit tests try again all that
// were found.
#pragma once

#include <string>
#include <string_view>

#include "core/chunk.h"
#include "core/digest.h"
#include "core/id.h"
#include "core/limits.h"
#include "core/utf8.h"
#include "core/watch_name.h"

namespace remotist::fuzz {

inline std::string name_broken_by(std::string_view text) {
  const auto name = parse_watch_name(text);
  if (!name) {
    const auto& error = name.error();
    if (error.character > text.size() + 1) return "a mistake lies beyond the end";
    return error.detail.empty() || !is_utf8(error.detail) ? "a refusal cannot be read" : "";
  }
  if (text.size() > limits::kVariableNameBytesMax || !is_utf8(text)) return "a name that is none is read";
  if (name->variable.empty() || name->steps.size() > kWatchStepsMax)
    return "a name has no variable, or too many steps";
  for (const auto& step : name->steps) {
    if (step.name.empty() == (step.number == 0)) return "a step has neither a name nor a number, or both";
  }
  const auto most = name->rule.kind == WatchRule::Kind::seconds ? kWatchSecondsMax : kWatchFractionMax;
  const bool has_rule = name->rule.kind != WatchRule::Kind::every_change;
  if (has_rule && !(name->rule.amount > 0 && name->rule.amount <= most))
    return "a rule's number is past its limit";
  return {};
}

inline std::string text_broken_by(std::string_view text) {
  for (const std::size_t most : {std::size_t{0}, std::size_t{3}, text.size()}) {
    const auto clean = clean_text(text, most);
    if (clean.size() > most || !is_utf8(clean) || clean.contains('\0')) return "a clean text is none";
    if (clean_text(clean, most) != clean) return "a clean text is cleaned again";
    std::string shown = clean;
    for (auto& c : shown) c = c == '\n' || c == '\t' ? ' ' : c;
    if (has_control_characters(shown)) return "a clean text has control characters";
    if (!is_utf8(utf8_within(text, most))) return "a text that was made UTF-8 is none";
  }
  return {};
}

// What is wrong with any of them; empty when nothing is.
inline std::string names_broken_by(std::string_view text) {
  if (auto broken = name_broken_by(text); !broken.empty()) return broken;
  if (auto broken = text_broken_by(text); !broken.empty()) return broken;
  if (const auto id = JobId::parse(text); id && JobId::parse(id->text()) != id)
    return "an id reads differently";
  if (const auto chunk = ChunkName::parse(text); chunk && chunk->hex() != text)
    return "a chunk's name reads differently";
  if (const auto bytes = bytes_of_base64(text); bytes && base64_of(*bytes) != text)
    return "base64 reads differently";
  if (bytes_of_base64(base64_of(text)) != std::string{text}) return "base64 cannot be undone";
  return {};
}

}  // namespace remotist::fuzz
