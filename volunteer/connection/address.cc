#include "volunteer/connection/address.h"

#include <arpa/inet.h>
#include <array>
#include <cstdint>
#include <curl/curl.h>
#include <memory>
#include <netinet/in.h>
#include <stdexcept>
#include <string_view>

namespace remotist::volunteer {
namespace {

// As libcurl would connect to it: what stands before an @ is a user's name, not the host.
std::string host_of(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parts{curl_url(), curl_url_cleanup};
  char* host = nullptr;
  if (!parts ||
      curl_url_set(parts.get(), CURLUPART_URL, url.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK ||
      curl_url_get(parts.get(), CURLUPART_HOST, &host, 0) != CURLUE_OK) {
    return {};
  }
  const std::unique_ptr<char, decltype(&curl_free)> owned{host, curl_free};
  return host;
}

}  // namespace

bool is_encrypted(const std::string& url) {
  return url.starts_with("https://") || url.starts_with("wss://");
}

bool is_loopback(const std::string& url) {
  const auto host = host_of(url);
  if (host == "localhost") return true;
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  std::string_view name{host};
  if (!name.starts_with('[') || !name.ends_with(']')) return false;
  in6_addr six{};
  return ::inet_pton(AF_INET6, std::string{name.substr(1, name.size() - 2)}.c_str(), &six) == 1 &&
         IN6_IS_ADDR_LOOPBACK(&six) != 0;
}

std::string plaintext_warning(const std::string& url) {
  if (is_encrypted(url) || is_loopback(url)) return {};
  return "your password and all that follows travel to " + url +
         " as plain text, and anybody on the way can read them: use an address that begins with https://";
}

void check_socket_url(const std::string& login_url, const std::string& socket_url, bool may_be_plaintext) {
  if (!socket_url.starts_with("ws://") && !socket_url.starts_with("wss://"))
    throw std::runtime_error{"the market names no address for this machine's socket, but \"" + socket_url +
                             "\""};
  if (!is_encrypted(login_url) || is_encrypted(socket_url) || may_be_plaintext) return;
  throw std::runtime_error{
      "you logged in at " + login_url + ", but the market wants this machine's socket at " + socket_url +
      ", where its token would travel as plain text. The market's operator can mend it (SOCKET_URL must "
      "begin "
      "with wss://); to connect all the same: volunteer-agent start --send-machine-token-as-plain-text"};
}

std::string scheme_hint(const std::string& url, int fault) {
  if (is_encrypted(url)) {
    return fault == CURLE_SSL_CONNECT_ERROR ? "; what answers there may speak no TLS: check the address" : "";
  }
  switch (fault) {
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:  // also bytes that are no HTTP/1
      return "; what answers there may expect TLS: if the market uses it now, log in again with its https:// "
             "address";
    default:
      return {};
  }
}

}  // namespace remotist::volunteer
