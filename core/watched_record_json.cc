#include "core/watched_record_json.h"

#include <algorithm>
#include <format>
#include <utility>

#include "core/chunk.h"
#include "core/digest.h"
#include "core/json.h"
#include "core/json_body.h"
#include "core/limits.h"

namespace remotist {
namespace {

using Mistake = std::optional<Refusal>;

void note(Mistake& mistake, const char* field, const std::string& rule) {
  if (!mistake) mistake = refuse(Code::invalid_field, std::string{field} + " " + rule, field);
}

std::int64_t count_in(JsonBody& body, const char* field, std::int64_t least, std::int64_t most,
                      Mistake& mistake) {
  const auto value = body.integer_if(field);
  if (value && *value >= least && *value <= most) return *value;
  note(mistake, field, std::format("must be a whole number from {} to {}", least, most));
  return least;
}

void check_text(std::string_view text, const char* field, std::size_t bytes_max, Mistake& mistake) {
  if (text.empty() || text.size() > bytes_max)
    note(mistake, field, "must have 1 to " + std::to_string(bytes_max) + " bytes");
  // PostgreSQL holds every character but this one.
  if (text.contains('\0')) note(mistake, field, "may not have a zero byte");
}

void read_value(JsonBody& body, WatchedRecord& record, Mistake& mistake) {
  const auto base64 = body.text_if("base64");
  const auto size = body.integer_if("size");
  record.chunks = body.texts_or_none("chunks");
  const bool has_value = record.kind == WatchedKind::value;
  if (has_value && base64.has_value() == size.has_value())
    note(mistake, "base64", "must be there, or size and chunks");
  if (!has_value && (base64 || size || !record.chunks.empty()))
    note(mistake, base64 ? "base64" : "chunks", "belongs to the kind value");
  if (size.has_value() == record.chunks.empty()) note(mistake, "chunks", "and size belong together");
  if (base64) {
    auto bytes = bytes_of_base64(*base64);
    if (!bytes) note(mistake, "base64", "must be base64 with its padding");
    record.bytes = std::move(bytes).value_or("");
    if (record.bytes.size() > limits::kRecordInlineBytesMax)
      note(mistake, "base64",
           std::format("may stand for {} bytes: send larger values as chunks first",
                       limits::kRecordInlineBytesMax));
  }
  if (!size) return;
  record.size = *size;
  if (record.chunks.size() > limits::kRecordChunksMax)
    note(mistake, "chunks", "may be " + std::to_string(limits::kRecordChunksMax));
  if (*size < 0) note(mistake, "size", "must be a number of bytes");
  const auto is_name = [](const std::string& name) { return ChunkName::parse(name).has_value(); };
  if (!std::ranges::all_of(record.chunks, is_name))
    note(mistake, "chunks", "are named by the 64 lower-case hexadecimal digits of their SHA-256");
}

}  // namespace

WatchedRecord watched_record_in(JsonBody& body, Mistake& mistake) {
  return watched_record_in(body, body.text("variable"), mistake);
}

WatchedRecord watched_record_in(JsonBody& body, std::string variable, Mistake& mistake) {
  WatchedRecord record{.variable = std::move(variable),
                       .number = count_in(body, "number", 1, limits::kRecordCountMax, mistake),
                       .changes = count_in(body, "changes", 0, limits::kRecordCountMax, mistake),
                       .age_ms = count_in(body, "age_ms", 0, limits::kRecordAgeMsMax, mistake)};
  check_text(record.variable, "variable", limits::kVariableNameBytesMax, mistake);
  const auto kind = watched_kind_named(body.text("kind"));
  if (!kind) note(mistake, "kind", "must be value, removed or problem");
  record.kind = kind.value_or(WatchedKind::value);
  read_value(body, record, mistake);
  const auto words = body.text_if("words");
  if (words.has_value() != (record.kind == WatchedKind::problem))
    note(mistake, "words", "belong to the kind problem, and only to that");
  if (words) check_text(*words, "words", limits::kMessageTextBytesMax, mistake);
  record.words = words.value_or("");
  return record;
}

nlohmann::json json_of(const WatchedRecord& record) {
  nlohmann::json document{{"variable", record.variable},
                          {"number", record.number},
                          {"changes", record.changes},
                          {"age_ms", record.age_ms},
                          {"kind", name_of(record.kind)}};
  if (!record.chunks.empty()) {
    document["size"] = record.size;
    document["chunks"] = record.chunks;
  } else if (record.kind == WatchedKind::value) {
    document["base64"] = base64_of(record.bytes);
  }
  if (record.kind == WatchedKind::problem) document["words"] = record.words;
  return document;
}

}  // namespace remotist
