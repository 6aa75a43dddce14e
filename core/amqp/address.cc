#include "core/amqp/address.h"

#include <charconv>
#include <optional>
#include <stdexcept>
#include <utility>

namespace remotist::amqp {
namespace {

constexpr std::size_t kPartBytesMax = 255;  // AMQP's short string, which the virtual host is sent as

Refusal bad(std::string why) {
  return refuse(Code::invalid_field, "the AMQP URL " + std::move(why));
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Nothing when an escape is broken, or when the result is empty, too long or holds a control character: a NUL
// would end the user's name in the login exchange.
std::optional<std::string> decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) return std::nullopt;
    plain.push_back(c);
  }
  if (plain.empty() || plain.size() > kPartBytesMax) return std::nullopt;
  return plain;
}

bool host_character(char c, bool bracketed) {
  if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) return true;
  return c == '.' || c == '-' || c == '_' || (bracketed && (c == ':' || c == '%'));
}

Result<void> parse_host_and_port(std::string_view text, Address& into) {
  const bool bracketed = text.starts_with('[');
  const auto end = text.find(bracketed ? ']' : ':');
  if (bracketed && end == std::string_view::npos)
    return bad("opens a bracket around the host and never closes it");
  const auto host = bracketed ? text.substr(1, end - 1) : text.substr(0, end);
  if (host.empty() || host.size() > kPartBytesMax) return bad("names no host");
  for (const char c : host) {
    if (!host_character(c, bracketed)) return bad("has a host with a character that no host name has");
  }
  into.host = host;

  auto rest = end == std::string_view::npos ? std::string_view{} : text.substr(bracketed ? end + 1 : end);
  if (rest.empty()) return {};
  if (!rest.starts_with(':')) return bad("has something other than a port after the host");
  rest.remove_prefix(1);
  const auto [stop, fault] = std::from_chars(rest.data(), rest.data() + rest.size(), into.port);
  if (fault != std::errc{} || stop != rest.data() + rest.size() || into.port == 0) {
    return bad("has a port that is not a number from 1 to 65535");
  }
  return {};
}

}  // namespace

Result<Address> Address::parse(std::string_view url) {
  if (url.starts_with("amqps://"))
    return bad("asks for TLS, which is not supported: use a private network or a tunnel");
  constexpr std::string_view kScheme = "amqp://";
  if (!url.starts_with(kScheme)) return bad("must begin with amqp://");
  url.remove_prefix(kScheme.size());
  if (url.find_first_of("?#") != std::string_view::npos) {
    return bad("may have neither ? nor #: percent-encode them where they belong to the password");
  }

  Address address;
  const auto at = url.rfind('@');
  if (at == std::string_view::npos) return bad("must name user and password: amqp://user:password@host");
  const auto credentials = url.substr(0, at);
  const auto colon = credentials.find(':');
  if (colon == std::string_view::npos) return bad("must name user and password: amqp://user:password@host");
  const auto user = credentials.substr(0, colon);
  const auto password = credentials.substr(colon + 1);
  if (credentials.find_first_of("/@") != std::string_view::npos ||
      password.find(':') != std::string_view::npos) {
    return bad("has user or password with a delimiter: percent-encode / : and @ in them");
  }
  auto plain_user = decoded(user);
  if (!plain_user) return bad("has no user, or one that is not properly percent-encoded");
  auto plain_password = decoded(password);
  if (!plain_password) return bad("has no password, or one that is not properly percent-encoded");
  address.user = std::move(*plain_user);
  address.password = std::move(*plain_password);

  const auto place = url.substr(at + 1);
  const auto slash = place.find('/');
  if (auto taken = parse_host_and_port(place.substr(0, slash), address); !taken) return taken.refusal();

  const auto path = slash == std::string_view::npos ? std::string_view{} : place.substr(slash + 1);
  if (!path.empty()) {
    if (path.find('/') != std::string_view::npos)
      return bad("has more than one part after the host: write / as %2F");
    auto virtual_host = decoded(path);
    if (!virtual_host) return bad("has a virtual host that is not properly percent-encoded");
    address.virtual_host = std::move(*virtual_host);
  }
  return address;
}

Address Address::of(std::string_view url) {
  auto address = parse(url);
  if (!address) throw std::invalid_argument{address.refusal().detail};
  return *address;
}

std::string Address::shown() const {
  const bool bracket = host.find(':') != std::string::npos;
  std::string text = bracket ? "[" + host + "]" : host;
  text += ":" + std::to_string(port);
  if (!virtual_host.starts_with('/')) text += "/";
  return text + virtual_host;
}

}  // namespace remotist::amqp
