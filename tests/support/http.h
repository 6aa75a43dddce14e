// A small HTTP client for tests. One connection is kept for each object; not thread-safe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/json.h"

namespace remotist::test {

struct HttpAnswer {
  int status = 0;  // 0: no answer at all
  std::string body;
  std::map<std::string, std::string> headers;  // names in lower case
  nlohmann::json json() const { return nlohmann::json::parse(body, nullptr, false); }
  std::string code() const;  // of a problem document, else ""
};

class Http {
 public:
  explicit Http(std::string base_url);
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  HttpAnswer call(const std::string& method, const std::string& path, const std::string& body = {},
                  const std::vector<std::string>& headers = {});
  HttpAnswer get(const std::string& path, const std::string& token = {});
  HttpAnswer send(const std::string& method, const std::string& path, const nlohmann::json& body,
                  const std::string& token = {}, const std::vector<std::string>& headers = {});

  // Is called with every answer of every object from now on, by the thread that received it. To be set before
  // the first call.
  using Observer = void (*)(const std::string& method, const std::string& path, const HttpAnswer& answer);
  static void observe(Observer observer);

 private:
  std::string base_url_;
  void* curl_;
};

}  // namespace remotist::test
