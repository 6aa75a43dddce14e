// What holds of the readers of REST bodies (lists of files and of chunks, records, problem documents, any
// other body) whatever a stranger sends. The fuzzer looks for bytes that break it, and the unit tests try
// again all that were found.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "core/file_path.h"
#include "core/json.h"
#include "core/json_body.h"
#include "core/limits.h"
#include "core/watched_record_json.h"
#include "market/service/file_list.h"
#include "tests/fuzz/documents.h"

namespace remotist::fuzz {

inline std::string files_broken_by(const Result<std::vector<market::JobFile>>& files) {
  if (!files) return refusal_broken_by(files.refusal());
  FileTree tree;
  for (const auto& file : *files) {
    if (!is_file_path(file.path) || tree.add(file.path))
      return "a list of files has a path that it should not";
    if (file.text && (file.text->size() > limits::kInlineCodeBytesMax || !file.chunks.empty()))
      return "a file has too much";
  }
  return {};
}

inline std::string chunks_broken_by(const Result<std::vector<ChunkName>>& chunks) {
  if (!chunks) return refusal_broken_by(chunks.refusal());
  return chunks->size() > limits::kChunksAskedMax ? "more chunks are asked for than may be" : "";
}

inline std::string record_broken_by(JsonBody body, bool texts_too) {
  std::optional<Refusal> mistake;
  const auto record = watched_record_in(body, "x", mistake);
  if (mistake) return refusal_broken_by(*mistake);
  if (const auto refusal = body.refusal()) return refusal_broken_by(*refusal);
  auto document = json_of(record);
  document.erase("variable");
  JsonBody written = texts_too ? JsonBody{document.dump()} : JsonBody::of(document);
  const auto again = watched_record_in(written, "x", mistake);
  if (mistake || written.refusal()) return "a record that was read cannot be written";
  return json_of(again) == json_of(record) ? "" : "a record reads differently";
}

// Asks for everything in every way.
inline std::string body_broken_by(JsonBody body) {
  for (const char* field : {"a", "path", "files", "code"}) {
    (void)body.text_if(field);
    (void)body.integer_if(field);
    (void)body.number_or(field, 0);
    (void)body.flag_or(field, false);
    (void)body.texts_or_none(field);
    (void)body.integers_or_none(field, 10);
    for (auto& object : body.objects_or_none(field, 10)) {
      (void)object.text("path");
      const auto refusal = object.refusal();
      if (auto broken = refusal ? refusal_broken_by(*refusal) : ""; !broken.empty()) return broken;
    }
  }
  const auto refusal = body.refusal();
  return refusal ? refusal_broken_by(*refusal) : "";
}

inline std::string body_texts_broken_by(std::string_view text) {
  if (auto broken = parser_broken_by(text); !broken.empty()) return broken;
  if (auto broken = files_broken_by(market::read_file_list(text)); !broken.empty()) return broken;
  if (auto broken = chunks_broken_by(market::read_chunk_list(text)); !broken.empty()) return broken;
  if (auto broken = record_broken_by(JsonBody{text}, true); !broken.empty()) return broken;
  return body_broken_by(JsonBody{text});
}

// What is wrong with the readers; empty when nothing is.
inline std::string bodies_broken_by(std::string_view text, bool texts_too) {
  std::string broken;
  if (texts_too) broken = body_texts_broken_by(text);
  if (!broken.empty()) return broken;
  auto parsed = parse_untrusted(text);
  // All of them begin with the same JSON parser, so one is enough for a text that it refuses.
  if (!parsed.document) return body_broken_by(JsonBody{std::move(parsed)});
  const auto body = [&] { return JsonBody::of(*parsed.document); };
  broken = files_broken_by(market::read_file_list(body()));
  if (broken.empty()) broken = chunks_broken_by(market::read_chunk_list(body()));
  if (broken.empty()) broken = record_broken_by(body(), false);
  if (broken.empty()) broken = body_broken_by(body());
  return broken;
}

inline std::string bodies_broken_by(std::string_view text) {
  return bodies_broken_by(text, is_one_in_16(text));
}

}  // namespace remotist::fuzz
