#include "core/log.h"

#include <cctype>
#include <cstdio>
#include <memory>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace remotist::log {
namespace {

bool plain(std::string_view value) {
  if (value.empty()) return false;
  for (const char c : value) {
    const auto u = static_cast<unsigned char>(c);
    if (u <= ' ' || u == '"' || u == '=' || u == '\\' || u == 0x7f) return false;
  }
  return true;
}

void append_quoted(std::string& line, std::string_view value) {
  line.push_back('"');
  for (const char c : value) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      line.push_back('\\');
      line.push_back(c);
    } else if (u < ' ' || u == 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", u);
      line += escaped;
    } else {
      line.push_back(c);
    }
  }
  line.push_back('"');
}

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warn:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
  }
  __builtin_unreachable();
}

std::shared_ptr<spdlog::logger> make_logger() {
  auto logger =
      std::make_shared<spdlog::logger>("remotist", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_formatter(std::make_unique<spdlog::pattern_formatter>("%Y-%m-%dT%H:%M:%S.%eZ level=%l %v",
                                                                    spdlog::pattern_time_type::utc));
  logger->flush_on(spdlog::level::debug);
  return logger;
}

spdlog::logger& logger() {
  // Never destroyed: threads may still log while static objects are torn down.
  static auto* const held = new std::shared_ptr<spdlog::logger>(make_logger());
  return **held;
}

}  // namespace

Field::Field(std::string_view key, double value) : key_(key) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  value_ = text;
}

std::optional<Level> level_named(std::string_view name) {
  if (name == "debug") return Level::debug;
  if (name == "info") return Level::info;
  if (name == "warn") return Level::warn;
  if (name == "error") return Level::error;
  return std::nullopt;
}

void set_level(Level level) {
  logger().set_level(to_spdlog(level));
}

std::string format(std::string_view event, Fields fields) {
  std::string line = "event=";
  line += event;
  for (const Field& field : fields) {
    line.push_back(' ');
    line += field.key();
    line.push_back('=');
    if (plain(field.value())) {
      line += field.value();
    } else {
      append_quoted(line, field.value());
    }
  }
  return line;
}

bool writes(Level level) {
  return logger().should_log(to_spdlog(level));
}

void write(Level level, std::string_view event, Fields fields) {
  if (!writes(level)) return;
  logger().log(to_spdlog(level), format(event, fields));
}

}  // namespace remotist::log
