// What holds of the readers of REST bodies (lists of files and of chunks, records, problem documents, any
// other body) whatever a stranger sends. The fuzzer looks for bytes that break it, and the unit tests try
// again all that were found.
#pragma once

#include <string>
#include <string_view>

#include "core/file_path.h"
#include "core/json.h"
#include "core/json_body.h"
#include "core/limits.h"
#include "core/problem.h"
#include "core/watched_record_json.h"
#include "market/service/file_list.h"

namespace remotist::fuzz {

inline std::string files_broken_by(std::string_view text) {
  const auto files = market::read_file_list(text);
  if (!files) return files.refusal().detail.empty() ? "a refusal says nothing" : "";
  FileTree tree;
  for (const auto& file : *files) {
    if (!is_file_path(file.path) || tree.add(file.path))
      return "a list of files has a path that it should not";
    if (file.text && (file.text->size() > limits::kInlineCodeBytesMax || !file.chunks.empty()))
      return "a file has too much";
  }
  return {};
}

inline std::string record_broken_by(std::string_view text) {
  JsonBody body{text};
  std::optional<Refusal> mistake;
  const auto record = watched_record_in(body, "x", mistake);
  if (mistake || body.refusal()) return {};
  auto document = json_of(record);
  document.erase("variable");
  JsonBody written{document.dump()};
  const auto again = watched_record_in(written, "x", mistake);
  if (mistake || written.refusal()) return "a record that was read cannot be written";
  return json_of(again) == json_of(record) ? "" : "a record reads differently";
}

inline std::string problem_broken_by(std::string_view text) {
  const auto document = json_if_any(text);
  if (!document) return {};
  const auto refusal = refusal_from(*document, 422);
  const auto again = refusal_from(problem_document(refusal, "id"), 422);
  return again.code == refusal.code && again.detail == refusal.detail ? "" : "a problem reads differently";
}

// Asks for everything in every way.
inline std::string body_broken_by(std::string_view text) {
  JsonBody body{text};
  for (const char* field : {"a", "path", "files", "code"}) {
    (void)body.text_if(field);
    (void)body.integer_if(field);
    (void)body.number_or(field, 0);
    (void)body.flag_or(field, false);
    (void)body.texts_or_none(field);
    (void)body.integers_or_none(field, 10);
    for (auto& object : body.objects_or_none(field, 10)) {
      (void)object.text("path");
      if (const auto refusal = object.refusal(); refusal && refusal->detail.empty())
        return "a refusal says nothing";
    }
  }
  const auto refusal = body.refusal();
  return refusal && refusal->detail.empty() ? "a refusal says nothing" : "";
}

// What is wrong with the readers; empty when nothing is.
inline std::string bodies_broken_by(std::string_view text) {
  // All of them begin with the same JSON parser, so one is enough for a text that it refuses.
  if (!json_if_any(text)) return body_broken_by(text);
  if (auto broken = files_broken_by(text); !broken.empty()) return broken;
  if (auto broken = record_broken_by(text); !broken.empty()) return broken;
  if (auto broken = problem_broken_by(text); !broken.empty()) return broken;
  if (const auto chunks = market::read_chunk_list(text); chunks && chunks->size() > limits::kChunksAskedMax)
    return "more chunks are asked for than may be";
  return body_broken_by(text);
}

}  // namespace remotist::fuzz
