// What the fuzzers of readers of JSON share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/json.h"
#include "core/limits.h"
#include "core/result.h"
#include "core/utf8.h"

namespace remotist::fuzz {

// Parsing takes longer than reading what was parsed, so the fuzzers parse an input once for all readers; of
// one input in 16, chosen by its bytes (FNV-1a), they also try what takes texts and what throws.
inline bool is_one_in_16(std::string_view input) {
  std::uint32_t hash = 2'166'136'261;
  for (const char byte : input) hash = (hash ^ static_cast<std::uint8_t>(byte)) * 16'777'619;
  return (hash >> 16) % 16 == 0;
}

// Most texts are ASCII, and is_utf8() is among what is watched for the ways it takes.
inline bool is_readable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; }) ||
         is_utf8(text);
}

// People read it, and it is sent in JSON and in close frames.
inline std::string refusal_broken_by(const Refusal& refusal) {
  if (refusal.detail.empty()) return "a refusal says nothing";
  return is_readable(refusal.detail) && is_readable(refusal.field) ? "" : "a refusal is not UTF-8";
}

// parse_untrusted() against the library's own parser. Throws often, so it takes long.
inline std::string parser_broken_by(std::string_view text) {
  using nlohmann::json;
  const auto parsed = parse_untrusted(text);
  int depth = 0;
  const auto note_depth = [&](int around, json::parse_event_t event, json&) {
    if (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start)
      depth = std::max(depth, around + 1);
    return true;
  };
  try {
    const auto document = json::parse(text, note_depth);
    if (parsed.too_deep) return depth > limits::kJsonDepthMax ? "" : "a shallow text is too deep";
    if (!parsed.document) return "JSON is not parsed: " + parsed.mistake;
    if (depth > limits::kJsonDepthMax) return "a text that is too deep is parsed";
    return *parsed.document == document && parsed.document->dump() == document.dump()
               ? ""
               : "a text is parsed differently";
  } catch (const json::exception& fault) {
    if (parsed.document) return "what is not JSON is parsed";
    if (parsed.too_deep) return depth > limits::kJsonDepthMax ? "" : "a shallow text is too deep";
    return parsed.mistake == fault.what() ? "" : "a mistake is told differently: " + parsed.mistake;
  }
}

}  // namespace remotist::fuzz
