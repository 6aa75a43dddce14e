#include "volunteer/connection/rest.h"

#include <cctype>
#include <curl/curl.h>
#include <stdexcept>

#include "core/json_body.h"
#include "volunteer/connection/address.h"
#include "volunteer/connection/ends_early.h"

namespace remotist::volunteer {
namespace {

constexpr long kAnswerMsMax = 60'000;
constexpr std::size_t kAnswerBytesMax = 32 << 20;  // far more than a market ever answers

// Returning less than the given size aborts the call.
size_t append_body(char* bytes, size_t size, size_t count, void* into) {
  auto& body = *static_cast<std::string*>(into);
  if (body.size() + size * count > kAnswerBytesMax) return 0;
  body.append(bytes, size * count);
  return size * count;
}

}  // namespace

std::string RestAnswer::code() const {
  if (status == 0) return "no_answer";
  const auto code = JsonBody{body}.text("code");
  if (!code.empty()) return code;
  return status >= 500 ? "no_answer" : "no_code";
}

std::string RestAnswer::message() const {
  if (status == 0) return "no answer: " + body;
  const auto detail = JsonBody{body}.text("detail");
  return std::to_string(status) + " " + code() + (detail.empty() ? "" : ": " + detail);
}

std::string query_value(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string written;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && (std::isalnum(byte) != 0 || c == '.' || c == '-' || c == '_')) {
      written += c;
    } else {
      written += {'%', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return written;
}

Rest::Rest(std::string url, std::string ca_file, const std::atomic<bool>& stopping)
    : url_(std::move(url)), ca_file_(std::move(ca_file)), stopping_(stopping), curl_(curl_easy_init()) {
  if (curl_ == nullptr) throw std::runtime_error{"libcurl has no memory for another connection"};
}

Rest::~Rest() {
  curl_easy_cleanup(curl_);
}

RestAnswer Rest::call(const char* method, const std::string& path, const std::vector<std::string>& headers,
                      std::string_view body) {
  RestAnswer answer;
  // Without this curl waits for "100 Continue" before it sends a large body.
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  for (const auto& header : headers) list = curl_slist_append(list, header.c_str());
  curl_easy_reset(curl_);
  curl_easy_setopt(curl_, CURLOPT_URL, (url_ + path).c_str());
  curl_easy_setopt(curl_, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl_, CURLOPT_CUSTOMREQUEST, method);
  curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl_, CURLOPT_TIMEOUT_MS, kAnswerMsMax);
  curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, append_body);
  curl_easy_setopt(curl_, CURLOPT_WRITEDATA, &answer.body);
  curl_easy_setopt(curl_, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl_, CURLOPT_XFERINFOFUNCTION, ends_early);
  curl_easy_setopt(curl_, CURLOPT_XFERINFODATA, &stopping_);
  if (!ca_file_.empty()) curl_easy_setopt(curl_, CURLOPT_CAINFO, ca_file_.c_str());
  if (!body.empty()) {
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, body.data());
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  }
  const CURLcode fault = curl_easy_perform(curl_);
  long status = 0;
  if (fault == CURLE_OK) {
    curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
  } else {
    answer.body = curl_easy_strerror(fault) + scheme_hint(url_, fault);
  }
  curl_slist_free_all(list);
  answer.status = static_cast<int>(status);
  return answer;
}

}  // namespace remotist::volunteer
