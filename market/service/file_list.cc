#include "market/service/file_list.h"

#include <utility>

#include "core/json_body.h"
#include "core/limits.h"
#include "market/service/jobs.h"

namespace remotist::market {
namespace {

Result<ChunkName> chunk_named(std::string_view text) {
  const auto chunk = ChunkName::parse(text);
  if (chunk) return *chunk;
  return refuse(Code::invalid_field,
                "a chunk is named by the 64 lower-case hexadecimal digits of its SHA-256", "chunks");
}

Result<JobFile> file_of(JsonBody& object) {
  JobFile file{.path = object.text("path"), .text = object.text_if("text")};
  const auto size = object.integer_if("size");
  const auto names = object.texts_or_none("chunks");
  if (auto refusal = object.refusal()) return *refusal;
  if (file.text.has_value() == size.has_value() || (file.text && !names.empty())) {
    return refuse(Code::invalid_field, "a file has either text, or size and chunks", "text");
  }
  file.size = size.value_or(file.text ? static_cast<std::int64_t>(file.text->size()) : 0);
  for (const auto& name : names) {
    const auto chunk = chunk_named(name);
    if (!chunk) return chunk.refusal();
    file.chunks.push_back(*chunk);
  }
  return file;
}

}  // namespace

Result<std::vector<JobFile>> read_file_list(std::string_view text) {
  return read_file_list(JsonBody{text, limits::kBodyBytesMax});
}

Result<std::vector<JobFile>> read_file_list(JsonBody body) {
  std::vector<JobFile> files;
  if (!body.has("files")) {
    auto file = file_of(body);
    if (!file) return file.refusal();
    files.push_back(std::move(*file));
  } else {
    for (auto& object : body.objects_or_none("files", limits::kJobFilesMax)) {
      auto file = file_of(object);
      if (!file) return file.refusal();
      files.push_back(std::move(*file));
    }
    if (auto refusal = body.refusal()) return *refusal;
  }
  if (auto checked = check_files(files); !checked) return checked.refusal();
  return files;
}

Result<std::vector<ChunkName>> read_chunk_list(std::string_view text) {
  return read_chunk_list(JsonBody{text});
}

Result<std::vector<ChunkName>> read_chunk_list(JsonBody body) {
  const auto names = body.texts("chunks");
  if (auto refusal = body.refusal()) return *refusal;
  if (names.size() > limits::kChunksAskedMax) {
    return refuse(Code::too_large,
                  "ask for at most " + std::to_string(limits::kChunksAskedMax) + " chunks at once", "chunks");
  }
  std::vector<ChunkName> chunks;
  for (const auto& name : names) {
    auto chunk = chunk_named(name);
    if (!chunk) return chunk.refusal();
    chunks.push_back(std::move(*chunk));
  }
  return chunks;
}

}  // namespace remotist::market
