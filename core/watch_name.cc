#include "core/watch_name.h"

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

// Bytes past ASCII belong to a letter of some alphabet; whether R agrees, R will tell.
bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool continues_name(char c) {
  return begins_name(c) || is_digit(c) || c == '_';
}

class Reader {
 public:
  explicit Reader(std::string_view text) : left_(text) {}

  bool empty() const { return left_.empty(); }
  bool take(std::string_view word) {
    if (!left_.starts_with(word)) return false;
    left_.remove_prefix(word.size());
    return true;
  }
  bool variable(std::string& into) {
    if (take("`")) return until('`', into);
    std::size_t end = 0;
    while (end < left_.size() && (end == 0 ? begins_name(left_[0]) : continues_name(left_[end]))) ++end;
    // R reads .5 as a number.
    if (end == 0 || (left_[0] == '.' && end > 1 && is_digit(left_[1]))) return false;
    return cut(end, into);
  }
  bool until(char mark, std::string& into) {
    const auto end = left_.find(mark);
    if (end == std::string_view::npos || end == 0) return false;
    cut(end, into);
    left_.remove_prefix(1);
    return true;
  }
  bool whole(std::size_t& into) {
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), into);
    if (error != std::errc{}) return false;
    left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
    return true;
  }
  bool last_number(double& into) {
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), into);
    return error == std::errc{} && end == left_.data() + left_.size();
  }

 private:
  bool cut(std::size_t count, std::string& into) {
    into = left_.substr(0, count);
    left_.remove_prefix(count);
    return true;
  }

  std::string_view left_;
};

bool read_step(Reader& reader, WatchStep& step) {
  if (reader.take("$")) {
    step.kind = WatchStep::Kind::dollar;
    return reader.variable(step.name);
  }
  if (reader.take("@")) {
    step.kind = WatchStep::Kind::slot;
    return reader.variable(step.name);
  }
  if (!reader.take("[[")) return false;
  step.kind = WatchStep::Kind::index;
  const bool good =
      reader.take("\"") ? reader.until('"', step.name) : reader.whole(step.number) && step.number > 0;
  return good && reader.take("]]");
}

bool read_rule(Reader& reader, WatchRule& rule) {
  if (reader.empty()) return true;
  double most = 0;
  if (reader.take(" every ")) {
    rule.kind = WatchRule::Kind::seconds;
    most = kWatchSecondsMax;
  } else if (reader.take(" by ")) {
    rule.kind = WatchRule::Kind::fraction;
    most = kWatchFractionMax;
  } else {
    return false;
  }
  return reader.last_number(rule.amount) && std::isfinite(rule.amount) && rule.amount > 0 &&
         rule.amount <= most;
}

}  // namespace

std::expected<WatchName, std::string> parse_watch_name(std::string_view text) {
  const auto refuse = [text](std::string_view why) {
    return std::unexpected(std::format("\"{}\" cannot be watched: {}", utf8_within(text, 80), why));
  };
  if (text.empty()) return refuse("it is empty");
  if (text.size() > limits::kVariableNameBytesMax) return refuse("it is too long");
  if (!is_utf8(text) || text.contains('\0') || text.contains('\n')) return refuse("it is no line of text");
  Reader reader{text};
  WatchName name;
  if (!reader.variable(name.variable)) return refuse("it does not begin with the name of a variable");
  while (!reader.empty()) {
    WatchStep step{};
    Reader here = reader;
    if (!read_step(here, step)) break;
    if (name.steps.size() == kWatchStepsMax) return refuse("it leads too far down");
    name.steps.push_back(std::move(step));
    reader = here;
  }
  if (!read_rule(reader, name.rule)) {
    return refuse(
        "after the variable only $name, @name, [[1]], [[\"name\"]], \" every SECONDS\" or \" by FRACTION\" "
        "may follow");
  }
  return name;
}

}  // namespace remotist
