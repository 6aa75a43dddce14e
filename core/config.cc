#include "core/config.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>

namespace remotist {

void require_no_mistakes(const std::vector<std::string>& mistakes) {
  if (mistakes.empty()) return;
  std::string all = "the settings are not right:";
  for (const auto& mistake : mistakes) all += "\n  - " + mistake;
  throw Misconfigured{all};
}

ConfigReader::Values ConfigReader::environment() {
  Values values;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view line{*entry};
    const auto equals = line.find('=');
    if (equals != std::string_view::npos) values.emplace(line.substr(0, equals), line.substr(equals + 1));
  }
  return values;
}

ConfigReader::Values ConfigReader::file(const std::string& path) {
  std::ifstream in{path};
  if (!in) throw std::runtime_error{"cannot read the settings file " + path};
  Values values;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line.front() == '#') continue;
    const auto equals = line.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw std::runtime_error{path + ":" + std::to_string(number) + ": expected KEY=VALUE"};
    }
    values.insert_or_assign(line.substr(0, equals), line.substr(equals + 1));
  }
  return values;
}

ConfigReader::ConfigReader(std::string prefix, Values values)
    : prefix_(std::move(prefix)), values_(std::move(values)) {}

const std::string* ConfigReader::find(std::string_view key) {
  const std::string name = prefix_ + std::string{key};
  known_.insert(name);
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

void ConfigReader::text(std::string_view key, std::string& into) {
  if (const auto* value = find(key)) into = *value;
}

void ConfigReader::required_text(std::string_view key, std::string& into) {
  const auto* value = find(key);
  if (value == nullptr || value->empty()) {
    mistakes_.push_back(prefix_ + std::string{key} + " must be set");
    return;
  }
  into = *value;
}

void ConfigReader::number(std::string_view key, std::int64_t& into, std::int64_t least, std::int64_t most) {
  const auto* value = find(key);
  if (value == nullptr) return;
  std::int64_t parsed = 0;
  const char* end = value->data() + value->size();
  const auto [stop, fault] = std::from_chars(value->data(), end, parsed);
  if (fault != std::errc{} || stop != end || parsed < least || parsed > most) {
    mistakes_.push_back(prefix_ + std::string{key} + "='" + *value + "' must be a whole number from " +
                        std::to_string(least) + " to " + std::to_string(most));
    return;
  }
  into = parsed;
}

void ConfigReader::flag(std::string_view key, bool& into) {
  const auto* value = find(key);
  if (value == nullptr) return;
  if (*value != "true" && *value != "false") {
    mistakes_.push_back(prefix_ + std::string{key} + "='" + *value + "' must be true or false");
    return;
  }
  into = *value == "true";
}

void ConfigReader::choice(std::string_view key, std::string& into,
                          std::initializer_list<std::string_view> allowed) {
  const auto* value = find(key);
  if (value == nullptr) return;
  if (std::ranges::contains(allowed, std::string_view{*value})) {
    into = *value;
    return;
  }
  std::string mistake = prefix_ + std::string{key} + "='" + *value + "' must be one of:";
  for (const auto word : allowed) mistake += " " + std::string{word};
  mistakes_.push_back(std::move(mistake));
}

void ConfigReader::list(std::string_view key, std::vector<std::string>& into) {
  const auto* value = find(key);
  if (value == nullptr) return;
  into.clear();
  std::string_view rest = *value;
  while (!rest.empty()) {
    const auto comma = rest.find(',');
    const auto item = rest.substr(0, comma);
    if (!item.empty()) into.emplace_back(item);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
}

void ConfigReader::secret(std::string_view key, std::string& into) {
  if (find(key) != nullptr) {
    mistakes_.push_back(prefix_ + std::string{key} +
                        " is a secret: put it into a file and name that file in " + prefix_ +
                        std::string{key} + "_FILE");
    return;
  }
  secret_file(std::string{key} + "_FILE", into);
}

bool ConfigReader::secret_file(std::string_view file_key, std::string& into) {
  const auto* path = find(file_key);
  if (path == nullptr) return false;
  const std::string name = prefix_ + std::string{file_key};
  struct stat status{};
  if (stat(path->c_str(), &status) != 0) {
    mistakes_.push_back(name + ": cannot read " + *path);
    return true;
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    mistakes_.push_back(name + ": others can read " + *path + "; chmod 600 it");
    return true;
  }
  std::ifstream in{*path};
  into.assign(std::istreambuf_iterator<char>{in}, {});
  while (!into.empty() && (into.back() == '\n' || into.back() == '\r')) into.pop_back();
  if (into.empty()) mistakes_.push_back(name + ": " + *path + " is empty or cannot be read");
  return true;
}

std::vector<std::string> ConfigReader::mistakes() const {
  std::vector<std::string> all = mistakes_;
  for (const auto& [key, value] : values_) {
    if (key.starts_with(prefix_) && !known_.contains(key)) all.push_back(key + " is not a setting");
  }
  return all;
}

}  // namespace remotist
