// What holds of the request for a volunteer's socket, of settings and of compressed chunks whatever they
// hold. The fuzzer looks for bytes that break it, and the unit tests try again all that were found.
#pragma once

#include <string>
#include <string_view>

#include "core/config.h"
#include "core/limits.h"
#include "core/websocket_handshake.h"
#include "core/zstd.h"
#include "tests/fuzz/documents.h"

namespace remotist::fuzz {

inline std::string handshake_broken_by(std::string_view bytes) {
  const auto end = websocket::head_end(bytes);
  if (!end) return {};
  if (*end > bytes.size()) return "a head ends behind its bytes";
  const auto read = websocket::read_handshake(bytes.substr(0, *end));
  if (!read) return refusal_broken_by(read.refusal());
  const auto has_break = [](const std::string& text) {
    return text.find_first_of("\r\n") != std::string::npos;
  };
  if (has_break(read->path + read->key + read->bearer)) return "a handshake has a line break";
  return {};
}

inline std::string settings_broken_by(std::string_view bytes) {
  ConfigReader::Values values;
  const auto half = bytes.size() / 2;
  values["X_NUMBER"] = bytes;
  values["X_FLAG"] = bytes.substr(0, half);
  values["X_CHOICE"] = bytes.substr(half);
  values["X_LIST"] = bytes;
  ConfigReader reader{"X_", values};
  std::int64_t number = 7;
  bool flag = false;
  std::string choice = "one";
  std::vector<std::string> list;
  reader.number("NUMBER", number, 1, 65'535);
  reader.flag("FLAG", flag);
  reader.choice("CHOICE", choice, {"one", "two"});
  reader.list("LIST", list);
  if (number < 1 || number > 65'535 || (choice != "one" && choice != "two"))
    return "a setting is past its limits";
  for (const auto& item : list) {
    if (item.empty() || item.contains(',')) return "a list has an item that is none";
  }
  return {};
}

inline std::string chunk_broken_by(std::string_view bytes) {
  constexpr std::size_t kMost = 4096;
  const auto unfolded = zstd_decompress(bytes, kMost);
  return unfolded && unfolded->size() > kMost ? "a chunk unfolds to more than it may" : "";
}

// What is wrong with any of them; empty when nothing is.
inline std::string heads_broken_by(std::string_view bytes) {
  if (auto broken = handshake_broken_by(bytes); !broken.empty()) return broken;
  if (auto broken = settings_broken_by(bytes); !broken.empty()) return broken;
  return chunk_broken_by(bytes);
}

}  // namespace remotist::fuzz
