#include "volunteer/sandbox/word.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <format>

#include "core/json.h"
#include "core/limits.h"
#include "core/utf8.h"
#include "volunteer/sandbox/frames.h"

namespace remotist::volunteer {

namespace {

using nlohmann::json;

// Reads the fields of one frame; the first that does not fit makes it none.
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
  bool good() const { return good_ && object_.size() == asked_; }

 private:
  // What JSON, databases and R all hold exactly.
  static constexpr std::uint64_t kWholeMax = (std::uint64_t{1} << 53) - 1;

  static constexpr int kDepthMax = 3;

  const json* find(const char* name) {
    ++asked_;
    if (!good_) return nullptr;
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }

  json object_;
  std::size_t asked_ = 0;
  bool good_ = false;
};

std::string dumped(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

constexpr std::array<const char*, 3> kKinds{"value", "removed", "problem"};

// Its parts must fit each other too.
std::optional<Changed> changed_in(Fields& fields) {
  Changed word{.variable = fields.whole("variable"),
               .number = fields.whole("number"),
               .changes = fields.whole("changes"),
               .at_us = static_cast<std::int64_t>(fields.whole("at_us"))};
  const auto kind = std::ranges::find(kKinds, fields.text("kind", 20));
  word.file = fields.text("file", 40);
  word.words = fields.text("words", limits::kWatchedWordsBytesMax);
  if (kind == kKinds.end()) return std::nullopt;
  word.kind = static_cast<Changed::Kind>(kind - kKinds.begin());
  if (word.number == 0 || (!word.file.empty() && !is_partial_file_name(word.file))) return std::nullopt;
  if (word.kind != Changed::Kind::value && !word.file.empty()) return std::nullopt;
  if ((word.kind == Changed::Kind::problem) == word.words.empty()) return std::nullopt;
  return word;
}

struct Head {
  std::string operator()(const Began&) const { return R"({"type":"began"})"; }
  std::string operator()(const Completed&) const { return R"({"type":"completed"})"; }
  std::string operator()(const Refused& word) const {
    return dumped(
        {{"type", "refused"}, {"message", utf8_within(word.message, limits::kMessageTextBytesMax)}});
  }
  std::string operator()(const Progressed& word) const {
    return dumped({{"type", "progress"},
                   {"fraction", word.fraction},
                   {"message", utf8_within(word.message, limits::kMessageTextBytesMax)}});
  }
  std::string operator()(const Changed& word) const {
    const auto* const kind = kKinds[static_cast<std::size_t>(word.kind)];
    // Thousands a second may be like this, and none of it needs quoting.
    if (word.words.empty() && (word.file.empty() || is_partial_file_name(word.file))) {
      return std::format(
          R"({{"type":"changed","variable":{},"number":{},"changes":{},"at_us":{},"kind":"{}","file":"{}","words":""}})",
          word.variable, word.number, word.changes, std::max<std::int64_t>(word.at_us, 0), kind, word.file);
    }
    return dumped({{"type", "changed"},
                   {"variable", word.variable},
                   {"number", word.number},
                   {"changes", word.changes},
                   {"at_us", std::max<std::int64_t>(word.at_us, 0)},
                   {"kind", kind},
                   {"file", word.file},
                   {"words", utf8_within(word.words, limits::kWatchedWordsBytesMax)}});
  }
  std::string operator()(const Checkpointed& word) const {
    return std::format(R"({{"type":"checkpointed","number":{}}})", word.number);
  }
  std::string operator()(const Failed& word) const {
    auto traceback = json::array();
    for (std::size_t i = 0; i < std::min(word.traceback.size(), kTracebackLinesMax); ++i) {
      traceback.push_back(utf8_within(word.traceback[i], kTracebackLineBytesMax));
    }
    return dumped({{"type", "r_error"},
                   {"message", utf8_within(word.message, limits::kFailureDetailBytesMax)},
                   {"call", utf8_within(word.call, kCallBytesMax)},
                   {"traceback", std::move(traceback)}});
  }
};

}  // namespace

std::string head_of(const Word& word) {
  return std::visit(Head{}, word);
}

bool is_partial_file_name(std::string_view name) {
  if (!name.starts_with(kPartialFilePrefix)) return false;
  name.remove_prefix(kPartialFilePrefix.size());
  return !name.empty() && name.size() <= 12 &&
         std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<Word> word_in(std::string_view head) {
  Fields fields{head};
  const auto type = fields.text("type", 20);
  std::optional<Word> word;
  if (type == "began") word = Began{};
  if (type == "completed") word = Completed{};
  if (type == "refused") word = Refused{fields.text("message", limits::kMessageTextBytesMax)};
  if (type == "progress") {
    const double fraction = fields.number("fraction");
    if (!(fraction >= 0 && fraction <= 1)) return std::nullopt;
    word = Progressed{fraction, fields.text("message", limits::kMessageTextBytesMax)};
  }
  if (type == "changed") word = changed_in(fields);
  if (type == "checkpointed") word = Checkpointed{fields.whole("number")};
  if (type == "r_error") {
    auto message = fields.text("message", limits::kFailureDetailBytesMax);
    auto call = fields.text("call", kCallBytesMax);
    word = Failed{std::move(message), std::move(call),
                  fields.texts("traceback", kTracebackLinesMax, kTracebackLineBytesMax)};
  }
  return fields.good() ? word : std::nullopt;
}

}  // namespace remotist::volunteer
