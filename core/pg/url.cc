#include "core/pg/url.h"

#include <libpq-fe.h>
#include <map>
#include <memory>
#include <stdexcept>

namespace remotist::pg {
namespace {

// Empty when libpq cannot read it.
std::map<std::string, std::string> keywords_of(const std::string& url) {
  char* fault = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options{
      PQconninfoParse(url.c_str(), &fault), PQconninfoFree};
  PQfreemem(fault);
  std::map<std::string, std::string> keywords;
  if (!options) return keywords;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr) keywords.emplace(option->keyword, option->val);
  }
  return keywords;
}

std::string quoted(const std::string& value) {
  std::string text = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') text.push_back('\\');
    text.push_back(c);
  }
  return text + "'";
}

}  // namespace

Result<void> check_url(const std::string& url) {
  if (!keywords_of(url).empty()) return {};
  return refuse(
      Code::invalid_field,
      "the database URL cannot be read: it looks like postgresql://user@host:port/database or, for a socket, "
      "postgresql://user@/database?host=/folder");
}

bool has_password(const std::string& url) {
  return keywords_of(url).contains("password");
}

void check_setting(const std::string& prefix, const std::string& url, bool from_file,
                   std::vector<std::string>& mistakes) {
  const std::string name = prefix + "DATABASE_URL";
  if (url.empty()) {
    mistakes.push_back(name + " or " + name + "_FILE must be set");
  } else if (auto checked = check_url(url); !checked) {
    mistakes.push_back(checked.refusal().detail);
  } else if (has_password(url) && !from_file) {
    mistakes.push_back(name +
                       " has a password in it: put it into a file that only you can read and name that in " +
                       name + "_FILE");
  }
}

std::string with_settings(const std::string& url,
                          const std::vector<std::pair<std::string, std::string>>& settings) {
  auto keywords = keywords_of(url);
  if (keywords.empty()) throw std::invalid_argument{"the database URL cannot be read"};
  for (const auto& [key, value] : settings) keywords.insert_or_assign(key, value);
  std::string text;
  for (const auto& [key, value] : keywords) text += key + "=" + quoted(value) + " ";
  return text;
}

}  // namespace remotist::pg
