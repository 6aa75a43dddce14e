// The address and credentials of a broker: amqp://user:password@host:port/virtual_host
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.h"

namespace remotist::amqp {

struct Address {
  std::string host;
  std::uint16_t port = 5672;
  std::string user;
  std::string password;
  std::string virtual_host = "/";

  // Reads a URL. User and password are required; the port is 5672 and the virtual host "/" when they are left
  // out. User, password and virtual host may be percent-encoded, and must be where they contain a delimiter.
  // Refuses anything else (invalid_field): another scheme, amqps, a query, control characters, empty parts.
  // No refusal repeats any part of the URL, since a mistyped delimiter can put the password anywhere.
  static Result<Address> parse(std::string_view url);

  // As parse(), but throws std::invalid_argument.
  static Address of(std::string_view url);

  // "host:port/virtual_host", for logs: neither user nor password.
  std::string shown() const;
};

}  // namespace remotist::amqp
