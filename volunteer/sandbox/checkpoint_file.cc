#include "volunteer/sandbox/checkpoint_file.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <format>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "core/json.h"
#include "core/limits.h"
#include "core/sha256.h"
#include "core/utf8.h"
#include "core/zstd.h"

namespace remotist::volunteer {

namespace {

using nlohmann::json;

constexpr std::string_view kMagic = "remotist checkpoint 3\n";
constexpr std::string_view kMagicOfAnyFormat = "remotist checkpoint ";
constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kEndBytes = 2 * sizeof(std::uint64_t) + kHashBytes;
// What zstd may make of a chunk that it cannot compress.
constexpr std::size_t kFrameBytesMax = limits::kChunkBytesMax + (16 << 10);
static_assert(sizeof(CheckpointChunk) == 40);

std::string_view bytes_of(const std::vector<CheckpointChunk>& table) {
  return {reinterpret_cast<const char*>(table.data()), table.size() * sizeof(CheckpointChunk)};
}

bool read_at(int descriptor, std::uint64_t offset, char* into, std::size_t length) {
  while (length > 0) {
    const ssize_t got = ::pread(descriptor, into, length, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into += got;
    offset += static_cast<std::uint64_t>(got);
    length -= static_cast<std::size_t>(got);
  }
  return true;
}

std::expected<CheckpointFile, std::string> damaged(std::string_view what) {
  return std::unexpected(std::format("the checkpoint is damaged: {}", what));
}

// Reads the fields of a manifest; good() is false after the first that does not fit.
class ManifestFields {
 public:
  explicit ManifestFields(std::string_view text) {
    constexpr int kDepthMax = 3;
    if (text.size() <= limits::kCheckpointManifestBytesMax)
      object_ = json_if_any(text, kDepthMax).value_or(json());
    good_ = object_.is_object();
  }

  std::string text(const char* name, std::size_t bytes_max) {
    const auto* value = find(name);
    return value == nullptr ? std::string{} : clean(*value, bytes_max);
  }
  std::int64_t count(const char* name) {
    constexpr std::uint64_t kWholeMax = (std::uint64_t{1} << 53) - 1;  // exact in every reader of JSON
    const auto* value = find(name);
    if (value == nullptr || !value->is_number_unsigned()) return good_ = false, 0;
    const auto number = value->get<std::uint64_t>();
    if (number > kWholeMax) good_ = false;
    return good_ ? static_cast<std::int64_t>(number) : 0;
  }
  double milliseconds(const char* name) {
    constexpr double kMost = 1e12;
    const auto* value = find(name);
    const double number = value != nullptr && value->is_number() ? value->get<double>() : -1;
    if (!(number >= 0 && number <= kMost)) good_ = false;
    return good_ ? number : 0;
  }
  std::vector<std::string> texts(const char* name, std::size_t most, std::size_t bytes_max) {
    std::vector<std::string> all;
    const auto* value = find(name);
    if (value == nullptr || !value->is_array() || value->size() > most) return good_ = false, all;
    for (const auto& one : *value) all.push_back(clean(one, bytes_max));
    return all;
  }
  bool good() const { return good_ && object_.size() == fields_read_; }

 private:
  const json* find(const char* name) {
    ++fields_read_;
    if (!good_) return nullptr;
    const auto found = object_.find(name);
    if (found != object_.end()) return &*found;
    good_ = false;
    return nullptr;
  }
  std::string clean(const json& value, std::size_t bytes_max) {
    if (!value.is_string()) return good_ = false, std::string{};
    auto text = value.get<std::string>();
    if (text.size() > bytes_max || clean_text(text, bytes_max) != text) good_ = false;
    return text;
  }

  json object_;
  std::size_t fields_read_ = 0;
  bool good_ = false;
};

}  // namespace

std::string encode(const CheckpointManifest& manifest) {
  auto packages = json::array();
  for (const auto& one : manifest.packages) packages.push_back(clean_text(one, limits::kPackageBytesMax));
  return json{{"format", manifest.format},
              {"r_version", clean_text(manifest.r_version, limits::kRVersionBytesMax)},
              {"architecture", clean_text(manifest.architecture, limits::kArchitectureBytesMax)},
              {"packages", std::move(packages)},
              {"state_bytes", manifest.state_bytes},
              {"file", clean_text(manifest.file, limits::kPathBytesMax)},
              {"line", manifest.line},
              {"call", clean_text(manifest.call, limits::kCheckpointCallBytesMax)},
              {"pause_ms", manifest.pause_ms},
              {"child_cpu_ms", manifest.child_cpu_ms},
              {"files", manifest.files},
              {"files_read", manifest.files_read}}
      .dump();
}

std::optional<CheckpointManifest> parse_checkpoint_manifest(std::string_view text) {
  ManifestFields fields{text};
  CheckpointManifest manifest;
  if (fields.count("format") != kCheckpointFormat) return std::nullopt;
  manifest.r_version = fields.text("r_version", limits::kRVersionBytesMax);
  manifest.architecture = fields.text("architecture", limits::kArchitectureBytesMax);
  manifest.packages = fields.texts("packages", limits::kPackagesMax, limits::kPackageBytesMax);
  manifest.state_bytes = fields.count("state_bytes");
  manifest.file = fields.text("file", limits::kPathBytesMax);
  manifest.line = fields.count("line");
  manifest.call = fields.text("call", limits::kCheckpointCallBytesMax);
  manifest.pause_ms = fields.milliseconds("pause_ms");
  manifest.child_cpu_ms = fields.milliseconds("child_cpu_ms");
  manifest.files = fields.count("files");
  manifest.files_read = fields.count("files_read");
  return fields.good() ? std::optional{std::move(manifest)} : std::nullopt;
}

ChunkHash name_of_chunk(std::string_view contents) {
  ChunkHash name;
  std::ranges::copy(sha256(contents), name.begin());
  return name;
}

std::expected<CheckpointFile, std::string> CheckpointFile::open(int descriptor) {
  struct stat state{};
  if (::fstat(descriptor, &state) != 0 || !S_ISREG(state.st_mode)) return damaged("it is not a file");
  const auto size = static_cast<std::uint64_t>(std::max<off_t>(state.st_size, 0));
  std::string begin(std::min<std::uint64_t>(size, kMagic.size()), '\0');
  if (!read_at(descriptor, 0, begin.data(), begin.size())) return damaged("it cannot be read");
  if (begin != kMagic) {
    if (begin.starts_with(kMagicOfAnyFormat))
      return std::unexpected("the checkpoint has another format than this program reads");
    return damaged("it does not begin as one");
  }
  if (size < kMagic.size() + kEndBytes) return damaged("it is too short");
  std::array<char, kEndBytes> end;
  if (!read_at(descriptor, size - kEndBytes, end.data(), end.size())) return damaged("it cannot be read");
  std::uint64_t count = 0;
  std::uint64_t manifest_bytes = 0;
  std::memcpy(&count, end.data(), sizeof count);
  std::memcpy(&manifest_bytes, end.data() + sizeof count, sizeof manifest_bytes);
  if (count > limits::kCheckpointFileChunksMax) return damaged("it has too many chunks");
  if (manifest_bytes > limits::kCheckpointManifestBytesMax) return damaged("its manifest is too long");
  const std::size_t table_bytes = count * sizeof(CheckpointChunk);
  const std::uint64_t tail = table_bytes + manifest_bytes + kEndBytes;
  if (size - kMagic.size() < tail) return damaged("its table does not fit it");
  std::string said(tail - kHashBytes, '\0');
  if (!read_at(descriptor, size - tail, said.data(), said.size())) return damaged("it cannot be read");
  if (sha256(said) != std::string_view(end.data() + end.size() - kHashBytes, kHashBytes))
    return damaged("its table or manifest has changed");

  CheckpointFile file;
  file.descriptor_ = descriptor;
  file.manifest_text_ = said.substr(table_bytes, manifest_bytes);
  auto manifest = parse_checkpoint_manifest(file.manifest_text_);
  if (!manifest) return damaged("its manifest has another form");
  file.manifest_ = std::move(*manifest);
  file.chunks_.resize(count);
  if (count > 0) std::memcpy(file.chunks_.data(), said.data(), table_bytes);
  // At most some 15,000 chunks of at most some MiB: no sum overflows.
  std::uint64_t offset = kMagic.size();
  std::uint64_t length = 0;
  for (const auto& chunk : file.chunks_) {
    if (chunk.length == 0 || chunk.length > limits::kChunkBytesMax)
      return damaged("a chunk has no such length");
    if (chunk.stored > kFrameBytesMax) return damaged("a frame is too long");
    file.offsets_.push_back(offset);
    offset += chunk.stored;
    length += chunk.length;
  }
  if (offset != size - tail) return damaged("its frames are not those of its table");
  if (static_cast<std::uint64_t>(file.manifest_.state_bytes) > length)
    return damaged("its state is longer than its chunks");
  return file;
}

bool CheckpointFile::is_whole() const {
  return std::ranges::none_of(chunks_, [](const auto& chunk) { return chunk.stored == 0; });
}

std::optional<std::string> CheckpointFile::frame(std::size_t index) const {
  const auto& chunk = chunks_.at(index);
  if (chunk.stored == 0) return std::nullopt;
  std::string frame(chunk.stored, '\0');
  if (!read_at(descriptor_, offsets_[index], frame.data(), frame.size())) return std::nullopt;
  return frame;
}

std::optional<std::string> CheckpointFile::contents(std::size_t index) const {
  const auto frame = this->frame(index);
  if (!frame) return std::nullopt;
  const auto& chunk = chunks_[index];
  auto contents = zstd_decompress(*frame, chunk.length);
  if (!contents || contents->size() != chunk.length || name_of_chunk(*contents) != chunk.name)
    return std::nullopt;
  return contents;
}

CheckpointFileWriter::CheckpointFileWriter(int to) : to_(to) {
  send(kMagic);
}

void CheckpointFileWriter::add(const ChunkHash& name, std::size_t length, std::string_view frame) {
  failed_ = failed_ || table_.size() >= limits::kCheckpointFileChunksMax;
  if (failed_) return;
  table_.push_back({name, static_cast<std::uint32_t>(length), static_cast<std::uint32_t>(frame.size())});
  send(frame);
}

void CheckpointFileWriter::send(std::string_view bytes) {
  while (!bytes.empty() && !failed_) {
    const ssize_t sent = ::write(to_, bytes.data(), bytes.size());
    if (sent < 0 && errno == EINTR) continue;
    failed_ = sent <= 0;
    if (!failed_) bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool CheckpointFileWriter::finish(std::string_view manifest) {
  failed_ = failed_ || manifest.size() > limits::kCheckpointManifestBytesMax;
  std::string end(bytes_of(table_));
  end += manifest;
  for (const std::uint64_t number : {std::uint64_t{table_.size()}, std::uint64_t{manifest.size()}})
    end.append(reinterpret_cast<const char*>(&number), sizeof number);
  end += sha256(end);
  send(end);
  return !failed_;
}

std::string assemble_checkpoint(int to, std::string_view manifest, std::span<const ChunkHash> names,
                                const std::function<std::optional<std::string>(std::size_t)>& frame_of) {
  const auto parsed = parse_checkpoint_manifest(manifest);
  if (!parsed) return "the checkpoint's manifest has another form";
  if (names.size() > limits::kCheckpointFileChunksMax) return "the checkpoint has too many chunks";
  CheckpointFileWriter writer{to};
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto frame = frame_of(i);
    if (!frame) return std::format("chunk {} of the checkpoint is missing", i + 1);
    const auto contents =
        frame->size() > kFrameBytesMax ? std::nullopt : zstd_decompress(*frame, limits::kChunkBytesMax);
    if (!contents || contents->empty() || name_of_chunk(*contents) != names[i])
      return std::format("chunk {} of the checkpoint is damaged", i + 1);
    length += contents->size();
    writer.add(names[i], contents->size(), *frame);
  }
  if (static_cast<std::uint64_t>(parsed->state_bytes) > length)
    return "the checkpoint's state is longer than its chunks";
  return writer.finish(manifest) ? "" : "the checkpoint cannot be written to the disc";
}

}  // namespace remotist::volunteer
