#include "volunteer/sandbox/guest_message.h"

#include <algorithm>
#include <cmath>
#include <format>

#include "core/json.h"
#include "core/limits.h"
#include "core/utf8.h"
#include "volunteer/sandbox/frames.h"
#include "volunteer/sandbox/hex_digits.h"

namespace remotist::volunteer {

namespace {

using nlohmann::json;

// Reads the fields of one head; good() is false after the first that does not fit.
class Fields {
 public:
  explicit Fields(std::string_view head)
      : object_(head.size() <= kFrameHeadBytesMax ? json_if_any(head, kDepthMax).value_or(json()) : json()) {
    good_ = object_.is_object();
  }

  std::string text(const char* name, std::size_t bytes_max) {
    const auto* value = find(name);
    if (value == nullptr || !value->is_string()) return good_ = false, std::string{};
    return clean_text(value->get_ref<const std::string&>(), bytes_max);
  }
  double number(const char* name) {
    const auto* value = find(name);
    if (value == nullptr || !value->is_number()) return good_ = false, 0.0;
    return value->get<double>();
  }
  std::uint64_t whole(const char* name) {
    const auto* value = find(name);
    if (value == nullptr || !value->is_number_unsigned()) return good_ = false, 0;
    const auto number = value->get<std::uint64_t>();
    if (number > kWholeMax) good_ = false;
    return number;
  }
  // An array of at most `most` elements, or null.
  const json* array(const char* name, std::size_t most) {
    const auto* value = find(name);
    if (value != nullptr && value->is_array() && value->size() <= most) return value;
    good_ = false;
    return nullptr;
  }
  double milliseconds(const char* name) {
    constexpr double kMost = 1e12;
    const double value = number(name);
    if (!(value >= 0 && value <= kMost)) good_ = false;
    return value;
  }
  void refuse() { good_ = false; }
  std::int64_t count(const char* name) { return static_cast<std::int64_t>(whole(name)); }
  std::vector<std::string> texts(const char* name, std::size_t most, std::size_t bytes_max) {
    std::vector<std::string> all;
    const auto* value = find(name);
    if (value == nullptr || !value->is_array() || value->size() > most) return good_ = false, all;
    for (const auto& one : *value) {
      if (!one.is_string()) return good_ = false, all;
      all.push_back(clean_text(one.get_ref<const std::string&>(), bytes_max));
    }
    return all;
  }
  bool good() const { return good_ && object_.size() == fields_read_; }

 private:
  // The largest integer that JSON readers, PostgreSQL and R all represent exactly.
  static constexpr std::uint64_t kWholeMax = (std::uint64_t{1} << 53) - 1;

  static constexpr int kDepthMax = 3;

  const json* find(const char* name) {
    ++fields_read_;
    if (!good_) return nullptr;
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }

  json object_;
  std::size_t fields_read_ = 0;
  bool good_ = false;
};

std::string json_text(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

// The fields must also be consistent with each other.
std::optional<GuestRecord> parse_record(Fields& fields) {
  GuestRecord given{.variable = fields.whole("variable"),
                    .at_us = fields.count("at_us"),
                    .file = fields.text("file", 40),
                    .record = {.number = fields.count("number"),
                               .changes = fields.count("changes"),
                               .words = fields.text("words", limits::kWatchedWordsBytesMax)}};
  const auto kind = watched_kind_named(fields.text("kind", 20));
  if (!kind) return std::nullopt;
  given.record.kind = *kind;
  if (given.record.number == 0 || (!given.file.empty() && !is_watched_file_name(given.file)))
    return std::nullopt;
  if (*kind != WatchedKind::value && !given.file.empty()) return std::nullopt;
  if ((*kind == WatchedKind::problem) == given.record.words.empty()) return std::nullopt;
  return given;
}

// Three arrays of one length.
WatchedMarks parse_marks(Fields& fields) {
  WatchedMarks given{.number = fields.whole("number")};
  const auto* const numbers = fields.array("records", limits::kWatchedVariablesMax);
  const auto* const kinds = fields.array("kinds", limits::kWatchedVariablesMax);
  const auto* const hashes = fields.array("hashes", limits::kWatchedVariablesMax);
  if (numbers == nullptr || kinds == nullptr || hashes == nullptr) return given;
  if (kinds->size() != numbers->size() || hashes->size() != numbers->size()) return fields.refuse(), given;
  for (std::size_t i = 0; i < numbers->size(); ++i) {
    const auto& number = (*numbers)[i];
    const auto& kind = (*kinds)[i];
    const auto& hash = (*hashes)[i];
    if (!number.is_number_unsigned() || !kind.is_string() || !hash.is_string()) return fields.refuse(), given;
    const auto value = number.get<std::uint64_t>();
    const auto named = watched_kind_named(kind.get_ref<const std::string&>());
    auto bytes = bytes_of_digits(hash.get_ref<const std::string&>());
    if (value > limits::kRecordCountMax || !named || bytes.size() > kWatchedHashBytesMax ||
        (value > 0 && bytes.empty()) || hex_digits(bytes) != hash.get_ref<const std::string&>())
      return fields.refuse(), given;
    given.marks.push_back({static_cast<std::int64_t>(value), *named, std::move(bytes)});
  }
  return given;
}

struct Encoder {
  std::string operator()(const Began&) const { return R"({"type":"began"})"; }
  std::string operator()(const Completed&) const { return R"({"type":"completed"})"; }
  std::string operator()(const Refused& message) const {
    return json_text(
        {{"type", "refused"}, {"message", utf8_within(message.message, limits::kMessageTextBytesMax)}});
  }
  std::string operator()(const Progressed& message) const {
    return json_text({{"type", "progress"},
                      {"fraction", message.fraction},
                      {"message", utf8_within(message.message, limits::kMessageTextBytesMax)}});
  }
  std::string operator()(const GuestRecord& message) const {
    const auto& record = message.record;
    const auto at_us = std::max<std::int64_t>(message.at_us, 0);
    // The common case, thousands of times a second: nothing needs quoting.
    if (record.words.empty() && (message.file.empty() || is_watched_file_name(message.file))) {
      return std::format(
          R"({{"type":"watched_record","variable":{},"number":{},"changes":{},"at_us":{},"kind":"{}","file":"{}","words":""}})",
          message.variable, record.number, record.changes, at_us, name_of(record.kind), message.file);
    }
    return json_text({{"type", "watched_record"},
                      {"variable", message.variable},
                      {"number", record.number},
                      {"changes", record.changes},
                      {"at_us", at_us},
                      {"kind", name_of(record.kind)},
                      {"file", message.file},
                      {"words", utf8_within(record.words, limits::kWatchedWordsBytesMax)}});
  }
  std::string operator()(const Resumed&) const { return R"({"type":"resumed"})"; }
  std::string operator()(const CheckpointBegun& message) const {
    return std::format(R"({{"type":"checkpoint_begun","number":{}}})", message.number);
  }
  std::string operator()(const WatchedMarks& message) const {
    auto numbers = json::array();
    auto kinds = json::array();
    auto hashes = json::array();
    for (const auto& mark : message.marks) {
      numbers.push_back(mark.number);
      kinds.push_back(name_of(mark.kind));
      hashes.push_back(hex_digits(mark.hash));
    }
    return json_text({{"type", "watched_marks"},
                      {"number", message.number},
                      {"records", std::move(numbers)},
                      {"kinds", std::move(kinds)},
                      {"hashes", std::move(hashes)}});
  }
  std::string operator()(const Checkpointed& message) const {
    return json_text({{"type", "checkpointed"},
                      {"number", message.number},
                      {"pause_ms", message.pause_ms},
                      {"child_cpu_ms", message.child_cpu_ms}});
  }
  std::string operator()(const CheckpointRefused& message) const {
    return with_reason("checkpoint_refused", message.reason);
  }
  std::string operator()(const NotResumable& message) const {
    return with_reason("not_resumable", message.reason);
  }
  std::string operator()(const ResumeFailed& message) const {
    return with_reason("resume_failed", message.reason);
  }
  std::string operator()(const Failed& message) const {
    auto traceback = json::array();
    for (std::size_t i = 0; i < std::min(message.traceback.size(), kTracebackLinesMax); ++i) {
      traceback.push_back(utf8_within(message.traceback[i], kTracebackLineBytesMax));
    }
    return json_text({{"type", "r_error"},
                      {"message", utf8_within(message.message, limits::kFailureDetailBytesMax)},
                      {"call", utf8_within(message.call, kCallBytesMax)},
                      {"traceback", std::move(traceback)}});
  }

 private:
  static std::string with_reason(const char* type, const std::string& reason) {
    return json_text({{"type", type}, {"reason", utf8_within(reason, limits::kMessageTextBytesMax)}});
  }
};

}  // namespace

std::string encode(const GuestMessage& message) {
  return std::visit(Encoder{}, message);
}

bool is_watched_file_name(std::string_view name) {
  if (!name.starts_with(kWatchedFilePrefix)) return false;
  name.remove_prefix(kWatchedFilePrefix.size());
  return !name.empty() && name.size() <= 12 &&
         std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

std::string checkpoint_file_name(std::uint64_t number) {
  return std::format("{}-{}", kCheckpointFile, number);
}

std::optional<GuestMessage> parse_guest_message(std::string_view head) {
  Fields fields{head};
  const auto type = fields.text("type", 20);
  std::optional<GuestMessage> message;
  if (type == "began") message = Began{};
  if (type == "completed") message = Completed{};
  if (type == "refused") message = Refused{fields.text("message", limits::kMessageTextBytesMax)};
  if (type == "progress") {
    const double fraction = fields.number("fraction");
    if (!(fraction >= 0 && fraction <= 1)) return std::nullopt;
    message = Progressed{fraction, fields.text("message", limits::kMessageTextBytesMax)};
  }
  if (type == "watched_record") message = parse_record(fields);
  const auto reason = [&fields] { return fields.text("reason", limits::kMessageTextBytesMax); };
  if (type == "checkpoint_begun") message = CheckpointBegun{fields.whole("number")};
  if (type == "watched_marks") message = parse_marks(fields);
  if (type == "checkpointed") {
    const auto number = fields.whole("number");
    const auto pause_ms = fields.milliseconds("pause_ms");
    message = Checkpointed{number, pause_ms, fields.milliseconds("child_cpu_ms")};
  }
  if (type == "checkpoint_refused") message = CheckpointRefused{reason()};
  if (type == "not_resumable") message = NotResumable{reason()};
  if (type == "resumed") message = Resumed{};
  if (type == "resume_failed") message = ResumeFailed{reason()};
  if (type == "r_error") {
    auto text = fields.text("message", limits::kFailureDetailBytesMax);
    auto call = fields.text("call", kCallBytesMax);
    message = Failed{std::move(text), std::move(call),
                     fields.texts("traceback", kTracebackLinesMax, kTracebackLineBytesMax)};
  }
  return fields.good() ? message : std::nullopt;
}

}  // namespace remotist::volunteer
