#include "tests/support/http.h"

#include <algorithm>
#include <curl/curl.h>

namespace remotist::test {
namespace {

size_t take_body(char* bytes, size_t size, size_t count, void* into) {
  static_cast<std::string*>(into)->append(bytes, size * count);
  return size * count;
}

size_t take_header(char* bytes, size_t size, size_t count, void* into) {
  const std::string line{bytes, size * count};
  const auto colon = line.find(':');
  if (colon != std::string::npos) {
    std::string name = line.substr(0, colon);
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const auto first = line.find_first_not_of(' ', colon + 1);
    const auto last = line.find_last_not_of("\r\n ");
    (*static_cast<std::map<std::string, std::string>*>(into))[name] =
        first == std::string::npos || last < first ? "" : line.substr(first, last - first + 1);
  }
  return size * count;
}

constinit Http::Observer with_every_answer = nullptr;

std::vector<std::string> with_token(std::vector<std::string> headers, const std::string& token) {
  if (!token.empty()) headers.push_back("Authorization: Bearer " + token);
  return headers;
}

}  // namespace

std::string HttpAnswer::code() const {
  const auto document = json();
  return document.is_object() ? document.value("code", "") : "";
}

void Http::observe(Observer observer) {
  with_every_answer = observer;
}

Http::Http(std::string base_url) : base_url_(std::move(base_url)), curl_(curl_easy_init()) {}
Http::~Http() {
  curl_easy_cleanup(curl_);
}

HttpAnswer Http::call(const std::string& method, const std::string& path, const std::string& body,
                      const std::vector<std::string>& headers) {
  HttpAnswer answer;
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  for (const auto& header : headers) list = curl_slist_append(list, header.c_str());
  curl_easy_reset(curl_);
  curl_easy_setopt(curl_, CURLOPT_URL, (base_url_ + path).c_str());
  curl_easy_setopt(curl_, CURLOPT_CUSTOMREQUEST, method.c_str());
  curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(curl_, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl_, CURLOPT_TIMEOUT_MS, 60'000L);
  curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(curl_, CURLOPT_WRITEDATA, &answer.body);
  curl_easy_setopt(curl_, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(curl_, CURLOPT_HEADERDATA, &answer.headers);
  if (!body.empty()) {
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, body.data());
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  }
  long status = 0;
  if (curl_easy_perform(curl_) == CURLE_OK) curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
  curl_slist_free_all(list);
  answer.status = static_cast<int>(status);
  if (with_every_answer != nullptr) with_every_answer(method, path, answer);
  return answer;
}

HttpAnswer Http::get(const std::string& path, const std::string& token) {
  return call("GET", path, {}, with_token({}, token));
}

HttpAnswer Http::send(const std::string& method, const std::string& path, const nlohmann::json& body,
                      const std::string& token, const std::vector<std::string>& headers) {
  auto all = with_token(headers, token);
  all.emplace_back("Content-Type: application/json");
  return call(method, path, body.dump(), all);
}

}  // namespace remotist::test
