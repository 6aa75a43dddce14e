// One line an event, on standard error:
//
//   2026-01-31T12:00:00.123Z level=info event=job_submitted job=0194… account=0194… ms=3
//
// Keys are snake_case and spelled as in SQL and JSON, unit last. Values are quoted when they hold anything
// but plain characters, so that no value can forge a field or a line. Never pass a token, a password or a
// payload.
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace remotist::log {

enum class Level { debug, info, warn, error };
std::optional<Level> level_named(std::string_view name);

class Field {
 public:
  Field(std::string_view key, std::string_view value) : key_(key), value_(value) {}
  Field(std::string_view key, const char* value) : key_(key), value_(value) {}
  Field(std::string_view key, bool value) : key_(key), value_(value ? "true" : "false") {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Field(std::string_view key, T value) : key_(key), value_(std::to_string(value)) {}
  Field(std::string_view key, double value);

  std::string_view key() const { return key_; }
  std::string_view value() const { return value_; }

 private:
  std::string_view key_;
  std::string value_;
};

using Fields = std::initializer_list<Field>;

// Call once from main before any thread starts; without it everything from info on is written.
void set_level(Level level);

// Whether a line of this level is written at all. For callers whose fields are expensive to make.
bool writes(Level level);

// Thread-safe; a line is written whole.
void write(Level level, std::string_view event, Fields fields);

inline void debug(std::string_view event, Fields fields = {}) {
  write(Level::debug, event, fields);
}
inline void info(std::string_view event, Fields fields = {}) {
  write(Level::info, event, fields);
}
inline void warn(std::string_view event, Fields fields = {}) {
  write(Level::warn, event, fields);
}
inline void error(std::string_view event, Fields fields = {}) {
  write(Level::error, event, fields);
}

// "event=… key=value …" as write() prints it after the level.
std::string format(std::string_view event, Fields fields);

}  // namespace remotist::log
