// Settings of one program: environment variables with the program's prefix, or one file of KEY=VALUE lines.
//
//   ConfigReader reader{"REMOTIST_MARKET_", ConfigReader::environment()};
//   reader.text("DATABASE_URL", config.database_url);
//   reader.number("LISTEN_PORT", config.listen_port, 0, 65535);
//   if (auto mistakes = reader.mistakes(); !mistakes.empty()) …  // every mistake at once
//
// An unknown key is a mistake, so that a misspelt setting is never ignored. A secret may be given only by
// KEY_FILE, the path of a file that others cannot read; never in the environment itself.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace remotist {

// A configuration error that the operator can correct; its text is shown as it is.
struct Misconfigured : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Throws Misconfigured with all of them, one a line.
void require_no_mistakes(const std::vector<std::string>& mistakes);

class ConfigReader {
 public:
  using Values = std::map<std::string, std::string, std::less<>>;

  // Everything in the process's environment.
  static Values environment();
  // KEY=VALUE lines; blank lines and lines that begin with # are skipped. Throws std::runtime_error that
  // names file and line when a line is neither.
  static Values file(const std::string& path);

  ConfigReader(std::string prefix, Values values);

  // Each sets `into` when the key is present and right, else leaves the default and notes the mistake.
  void text(std::string_view key, std::string& into);
  void required_text(std::string_view key, std::string& into);
  void number(std::string_view key, std::int64_t& into, std::int64_t least, std::int64_t most);
  void flag(std::string_view key, bool& into);
  void choice(std::string_view key, std::string& into, std::initializer_list<std::string_view> allowed);
  void list(std::string_view key, std::vector<std::string>& into);  // comma-separated
  void secret(std::string_view key, std::string& into);             // from KEY_FILE, without its last newline
  // The same for a file's key, where KEY itself may also be set. False when it is not given.
  bool secret_file(std::string_view file_key, std::string& into);

  // All mistakes so far and every unknown key; empty when all is right. Call after the last setting.
  std::vector<std::string> mistakes() const;

 private:
  const std::string* find(std::string_view key);

  std::string prefix_;
  Values values_;
  std::set<std::string, std::less<>> known_;
  std::vector<std::string> mistakes_;
};

}  // namespace remotist
