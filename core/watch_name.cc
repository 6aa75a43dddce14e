#include "core/watch_name.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <format>

#include "core/limits.h"
#include "core/utf8.h"

namespace remotist {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// A byte beyond ASCII is taken as part of a letter; R itself decides later whether it is one.
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool continues_name(char c) {
  return begins_name(c) || is_digit(c) || c == '_';
}

// Each member that reads something returns false when it is not there; what was expected instead, and where,
// is then in expected() and at().
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text), left_(text) {}

  bool empty() const { return left_.empty(); }
  std::size_t at() const { return text_.size() - left_.size(); }
  std::string_view expected() const { return expected_; }

  bool starts_with(std::string_view word) const { return left_.starts_with(word); }
  bool accept(std::string_view word) {
    if (!left_.starts_with(word)) return false;
    left_.remove_prefix(word.size());
    return true;
  }
  bool require(std::string_view word, std::string_view expected) { return accept(word) || fail(expected); }
  bool variable(std::string& into) {
    if (accept("`")) return until('`', into, "expected a closing backtick");
    std::size_t end = 0;
    while (end < left_.size() && (end == 0 ? begins_name(left_[0]) : continues_name(left_[end]))) ++end;
    // R reads .5 as a number.
    if (end == 0 || (left_[0] == '.' && end > 1 && is_digit(left_[1]))) return fail(kNameExpected);
    cut(end, into);
    return true;
  }
  // A text that is not empty, up to the mark, and the mark.
  bool until(char mark, std::string& into, std::string_view expected) {
    const auto end = left_.find(mark);
    if (end == 0) return fail(kNameExpected);
    if (end == std::string_view::npos) {
      left_.remove_prefix(left_.size());
      return fail(expected);
    }
    cut(end, into);
    left_.remove_prefix(1);
    return true;
  }
  bool index(std::size_t& into) {
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), into);
    if (error != std::errc{} || into == 0 || into > kWatchIndexMax)
      return fail("expected a whole number from 1 or a quoted name");
    left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
    return true;
  }
  // A number that ends the text.
  bool last_number(double& into, double most, std::string_view expected) {
    if (empty() || !(is_digit(left_[0]) || left_[0] == '.')) return fail(expected);
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), into);
    if (error == std::errc::invalid_argument) return fail(expected);
    if (end != left_.data() + left_.size()) {
      left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
      return fail("expected nothing after the number");
    }
    if (error != std::errc{} || !std::isfinite(into) || into <= 0 || into > most) return fail(expected);
    left_ = {};
    return true;
  }
  bool fail(std::string_view expected) {
    expected_ = expected;
    return false;
  }

 private:
  static constexpr std::string_view kNameExpected = "expected a name";

  void cut(std::size_t count, std::string& into) {
    into = left_.substr(0, count);
    left_.remove_prefix(count);
  }

  std::string_view text_;
  std::string_view left_;
  std::string_view expected_;
};

bool read_step(Reader& reader, WatchStep& step) {
  if (reader.accept("$")) {
    step.kind = WatchStep::Kind::dollar;
    return reader.variable(step.name);
  }
  if (reader.accept("@")) {
    step.kind = WatchStep::Kind::slot;
    return reader.variable(step.name);
  }
  step.kind = WatchStep::Kind::index;
  if (!reader.require("[[", "expected [[")) return false;
  if (reader.accept("\"")) {
    if (!reader.until('"', step.name, "expected a closing quote")) return false;
  } else if (!reader.index(step.number)) {
    return false;
  }
  return reader.require("]]", "expected ]]");
}

bool read_rule(Reader& reader, WatchRule& rule) {
  if (reader.empty()) return true;
  if (!reader.require(" ", "expected $name, @name, [[1]], [[\"name\"]] or a space and a rule")) return false;
  if (reader.accept("every ")) {
    rule.kind = WatchRule::Kind::seconds;
    return reader.last_number(rule.amount, kWatchSecondsMax,
                              "expected seconds, more than 0 and at most 86400");
  }
  if (reader.accept("by ")) {
    rule.kind = WatchRule::Kind::fraction;
    return reader.last_number(rule.amount, kWatchFractionMax,
                              "expected a fraction, more than 0 and at most 1000000");
  }
  return reader.fail("expected \"every SECONDS\" or \"by FRACTION\"");
}

bool read_name(Reader& reader, WatchName& name) {
  if (!reader.variable(name.variable)) return false;
  while (reader.starts_with("$") || reader.starts_with("@") || reader.starts_with("[")) {
    if (name.steps.size() == kWatchStepsMax) return reader.fail("expected at most 16 elements");
    if (!read_step(reader, name.steps.emplace_back())) return false;
  }
  return read_rule(reader, name.rule);
}

// The characters that begin within the first `bytes`.
std::size_t characters_in(std::string_view text, std::size_t bytes) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return static_cast<std::size_t>(std::ranges::count_if(text.substr(0, bytes), begins));
}

}  // namespace

std::expected<WatchName, WatchNameError> parse_watch_name(std::string_view text) {
  const auto refuse = [text](std::size_t character, std::string_view why) {
    const auto where = character == 0 ? std::string{} : std::format(" at character {}", character);
    return std::unexpected(WatchNameError{
        character, std::format("\"{}\" cannot be watched: {}{}", utf8_within(text, 80), why, where)});
  };
  if (text.empty()) return refuse(0, "it is empty");
  if (text.size() > limits::kVariableNameBytesMax) {
    return refuse(0, std::format("it has more than {} bytes", limits::kVariableNameBytesMax));
  }
  if (!is_utf8(text)) return refuse(0, "it is not valid UTF-8");
  if (const auto at = text.find_first_of(std::string_view{"\n\0", 2}); at != std::string_view::npos) {
    return refuse(characters_in(text, at) + 1, "it has a line break or a zero byte");
  }
  Reader reader{text};
  WatchName name;
  if (!read_name(reader, name)) return refuse(characters_in(text, reader.at()) + 1, reader.expected());
  return name;
}

}  // namespace remotist
