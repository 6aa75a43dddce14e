#include "market/service/checkpoint_bodies.h"

#include <algorithm>
#include <cmath>
#include <format>
#include <string_view>
#include <utility>

#include "core/limits.h"
#include "core/utf8.h"

namespace remotist::market {
namespace {

// The fields of a body; keeps the first mistake that JsonBody does not find by itself.
class Fields {
 public:
  explicit Fields(JsonBody& body, std::string within = {}) : body_(body), within_(std::move(within)) {}

  std::int64_t integer(const char* field, std::int64_t least, std::int64_t most) {
    const auto value = body_.integer_if(field);
    if (!value || *value < least || *value > most) {
      note(field, std::format("must be a whole number from {} to {}", least, most));
      return least;
    }
    return *value;
  }
  std::int64_t integer_or_0(const char* field, std::int64_t most) {
    return body_.integer_if(field) ? integer(field, 0, most) : 0;
  }
  std::int64_t amount(const char* field) { return integer(field, 0, limits::kCheckpointAmountMax); }
  double number(const char* field, double most) {
    if (!body_.has(field)) note(field, "is missing: it must be a number");
    const double value = body_.number_or(field, 0);
    if (value >= 0 && value <= most) return value;
    note(field, std::format("must be a number from 0 to {}", most));
    return 0;
  }
  // No text of these has control characters.
  std::string word(const char* field, std::size_t bytes_max, bool may_be_empty = false) {
    auto text = may_be_empty ? body_.text_if(field).value_or("") : body_.text(field);
    if (text.empty() && may_be_empty) return text;
    if (!is_word(text, bytes_max))
      note(field, std::format("must have 1 to {} bytes and no control characters", bytes_max));
    return text;
  }
  // As R may have said it, over several lines.
  std::string words(const char* field) {
    auto text = body_.text(field);
    if (text.size() > limits::kMessageTextBytesMax || text.contains('\0'))
      note(field, std::format("may have {} bytes, and no zero byte", limits::kMessageTextBytesMax));
    return text;
  }
  std::vector<std::string> packages() {
    auto packages = body_.texts("packages");
    const auto is_package = [](const auto& each) { return is_word(each, limits::kPackageBytesMax); };
    if (packages.size() > limits::kPackagesMax || !std::ranges::all_of(packages, is_package)) {
      note("packages", std::format("may have {} names with versions, of 1 to {} bytes each",
                                   limits::kPackagesMax, limits::kPackageBytesMax));
    }
    return packages;
  }
  std::vector<ChunkName> chunks() {
    const auto names = body_.texts("chunks");
    std::vector<ChunkName> chunks;
    if (names.empty() || names.size() > limits::kCheckpointChunksMax) {
      note("chunks", std::format("must name 1 to {} chunks", limits::kCheckpointChunksMax));
      return chunks;
    }
    chunks.reserve(names.size());
    for (const auto& name : names) {
      const auto chunk = chunk_named("chunks", name);
      if (!chunk) break;
      chunks.push_back(*chunk);
    }
    return chunks;
  }
  std::optional<ChunkName> chunk_if(const char* field) {
    const auto name = body_.text_if(field);
    return name ? chunk_named(field, *name) : std::nullopt;
  }
  std::map<std::string, std::int64_t> watched() {
    auto watched = body_.integers_by_name_or_none("watched", limits::kWatchedVariablesMax);
    const auto is_number = [](const auto& each) {
      return each.second >= 0 && each.second <= limits::kRecordCountMax;
    };
    if (!std::ranges::all_of(watched, is_number))
      note("watched", std::format("must have numbers from 0 to {}", limits::kRecordCountMax));
    return watched;
  }

  void note(const std::string& field, const std::string& rule) {
    if (!mistake_) mistake_ = refuse(Code::invalid_field, within_ + field + " " + rule, within_ + field);
  }
  // Call after the last field.
  std::optional<Refusal> refusal() {
    if (auto refused = body_.refusal()) return refused;
    return mistake_;
  }

 private:
  static bool is_word(std::string_view text, std::size_t bytes_max) {
    return !text.empty() && text.size() <= bytes_max && !has_control_characters(text);
  }
  std::optional<ChunkName> chunk_named(const char* field, const std::string& name) {
    auto chunk = ChunkName::parse(name);
    if (!chunk) note(field, "has what is not the 64 lower-case hexadecimal digits of a chunk's SHA-256");
    return chunk;
  }

  JsonBody& body_;
  std::string within_;
  std::optional<Refusal> mistake_;
};

Result<CheckpointPosition> position_of(JsonBody& body) {
  auto object = body.object_if("position");
  if (!object) return CheckpointPosition{};
  Fields fields{*object, "position."};
  CheckpointPosition position{.file = fields.word("file", limits::kPathBytesMax, true),
                              .line = fields.integer_or_0("line", INT32_MAX),
                              .call = fields.word("call", limits::kMessageTextBytesMax, true)};
  if (auto refusal = fields.refusal()) return *refusal;
  return position;
}

Result<std::optional<CheckpointProgress>> progress_of(JsonBody& body) {
  auto object = body.object_if("progress");
  if (!object) return std::optional<CheckpointProgress>{};
  Fields fields{*object, "progress."};
  CheckpointProgress progress{fields.number("fraction", 1), fields.words("message")};
  if (auto refusal = fields.refusal()) return *refusal;
  return std::optional{std::move(progress)};
}

}  // namespace

Result<CheckpointManifest> read_checkpoint_manifest(JsonBody body) {
  Fields fields{body};
  CheckpointManifest manifest;
  manifest.number = static_cast<int>(fields.integer("number", 1, INT32_MAX));
  manifest.format = static_cast<int>(fields.integer("format", 1, INT32_MAX));
  manifest.r_version = fields.word("r_version", limits::kRVersionBytesMax);
  manifest.architecture = fields.word("architecture", limits::kArchitectureBytesMax);
  manifest.packages = fields.packages();
  manifest.state_bytes = fields.amount("state_bytes");
  manifest.size_bytes = fields.amount("size_bytes");
  manifest.sent_bytes = fields.amount("sent_bytes");
  manifest.pause_ms = fields.number("pause_ms", static_cast<double>(limits::kCheckpointAmountMax));
  manifest.interval_ms = fields.amount("interval_ms");
  manifest.attempt_cpu_ms = fields.amount("attempt_cpu_ms");
  manifest.age_ms = fields.integer("age_ms", 0, limits::kRecordAgeMsMax);
  manifest.watched = fields.watched();
  manifest.log = fields.chunk_if("log");
  manifest.log_left_out = fields.integer_or_0("log_left_out", limits::kCheckpointAmountMax);
  manifest.chunks = fields.chunks();
  auto position = position_of(body);
  if (!position) return position.refusal();
  manifest.position = std::move(*position);
  auto progress = progress_of(body);
  if (!progress) return progress.refusal();
  manifest.progress = std::move(*progress);
  if (auto refusal = fields.refusal()) return *refusal;
  return manifest;
}

Result<ResumeReport> read_resume_report(JsonBody body) {
  Fields fields{body};
  ResumeReport report{.sequence = static_cast<int>(fields.integer("sequence", 0, INT32_MAX))};
  for (auto& object : body.objects_or_none("skipped", limits::kCheckpointsSkippedMax)) {
    Fields each{object, "skipped."};
    report.skipped.push_back(
        {static_cast<int>(each.integer("sequence", 1, INT32_MAX)), each.words("reason")});
    if (auto refusal = each.refusal()) return *refusal;
  }
  if (auto refusal = fields.refusal()) return *refusal;
  return report;
}

Result<CheckpointNote> read_checkpoint_note(JsonBody body) {
  Fields fields{body};
  CheckpointNote note{.interval_ms = fields.amount("interval_ms"), .problem = {}};
  if (body.text_if("problem")) note.problem = fields.words("problem");
  if (auto refusal = fields.refusal()) return *refusal;
  return note;
}

}  // namespace remotist::market
