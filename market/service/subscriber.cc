#include "market/service/subscriber.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>

namespace remotist::market {
namespace {

constexpr std::size_t kMappedBytes = 12;  // ::ffff: before an IPv4 address
constexpr std::size_t kNetworkBytes = 8;  // a /64

// inet_pton() would read up to a zero byte.
bool parse(int family, const std::string& text, in6_addr& bytes) {
  return !text.contains('\0') && inet_pton(family, text.c_str(), &bytes) == 1;
}

bool is_address(const std::string& text) {
  in6_addr bytes;
  return parse(AF_INET, text, bytes) || parse(AF_INET6, text, bytes);
}

std::string text_of(int family, const void* bytes) {
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(family, bytes, text, sizeof text);
}

}  // namespace

std::string plain_address(std::string_view address) {
  std::string text{address};
  in6_addr six;
  if (!parse(AF_INET6, text, six) || !IN6_IS_ADDR_V4MAPPED(&six)) return text;
  return text_of(AF_INET, six.s6_addr + kMappedBytes);
}

std::string subscriber_of(std::string_view address) {
  std::string text = plain_address(address);
  in6_addr six;
  if (!parse(AF_INET6, text, six)) return text;
  std::memset(six.s6_addr + kNetworkBytes, 0, sizeof six.s6_addr - kNetworkBytes);
  return text_of(AF_INET6, &six) + "/64";
}

std::optional<std::string> forwarded_address(std::string_view header) {
  const auto comma = header.rfind(',');
  auto last = header.substr(comma == std::string_view::npos ? 0 : comma + 1);
  while (last.starts_with(' ')) last.remove_prefix(1);
  while (last.ends_with(' ')) last.remove_suffix(1);
  const std::string text{last};
  if (!is_address(text)) return std::nullopt;
  return plain_address(text);
}

bool is_network(std::string_view text) {
  const auto slash = text.find('/');
  const std::string address{text.substr(0, slash)};
  in6_addr bytes;
  const bool four = parse(AF_INET, address, bytes);
  if (!four && !parse(AF_INET6, address, bytes)) return false;
  if (slash == std::string_view::npos) return true;
  const auto digits = text.substr(slash + 1);
  const bool is_number = !digits.empty() && digits.size() <= 3 &&
                         std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
  return is_number && std::stoi(std::string{digits}) <= (four ? 32 : 128);
}

}  // namespace remotist::market
