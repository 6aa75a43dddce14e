#include "market/service/subscriber.h"

#include <algorithm>
#include <arpa/inet.h>
#include <charconv>
#include <cstring>

namespace remotist::market {
namespace {

constexpr std::size_t kMappedBytes = 12;  // ::ffff: before an IPv4 address
constexpr std::size_t kNetworkBytes = 8;  // a /64

std::string text_of(int family, const void* bytes) {
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(family, bytes, text, sizeof text);
}

}  // namespace

std::string plain_address(std::string_view address) {
  std::string text{address};
  in6_addr six;
  if (inet_pton(AF_INET6, text.c_str(), &six) != 1 || !IN6_IS_ADDR_V4MAPPED(&six)) return text;
  return text_of(AF_INET, six.s6_addr + kMappedBytes);
}

std::string subscriber_of(std::string_view address) {
  std::string text = plain_address(address);
  in6_addr six;
  if (inet_pton(AF_INET6, text.c_str(), &six) != 1) return text;
  std::memset(six.s6_addr + kNetworkBytes, 0, sizeof six.s6_addr - kNetworkBytes);
  return text_of(AF_INET6, &six) + "/64";
}

bool is_network(std::string_view text) {
  const auto slash = text.find('/');
  const std::string address{text.substr(0, slash)};
  in6_addr bytes;
  const bool four = inet_pton(AF_INET, address.c_str(), &bytes) == 1;
  if (!four && inet_pton(AF_INET6, address.c_str(), &bytes) != 1) return false;
  if (slash == std::string_view::npos) return true;
  const auto digits = text.substr(slash + 1);
  int bits = 0;
  const auto [stop, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  return fault == std::errc{} && stop == digits.data() + digits.size() && bits >= 0 &&
         bits <= (four ? 32 : 128);
}

}  // namespace remotist::market
