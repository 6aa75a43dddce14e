// The unit that per-address limits count. All limits use it, so that none can be evaded by changing address
// bits that a subscriber may choose freely.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace remotist::market {

// An IPv4 address that is written as IPv6 (::ffff:192.0.2.1) as IPv4. Any other text as it is.
std::string plain_address(std::string_view address);

// An IPv4 address as it is, also when it is written as IPv6 (::ffff:192.0.2.1); an IPv6 address as its /64,
// which is what one subscriber has: "2001:db8:0:1::/64". Any other text as it is.
std::string subscriber_of(std::string_view address);

// The address that a trusted proxy appended to X-Forwarded-For, plain; anything before the last comma comes
// from the client. None when it is not an address.
std::optional<std::string> forwarded_address(std::string_view header);

// Whether PostgreSQL's inet reads it: an address, or a network such as 2001:db8::/32.
bool is_network(std::string_view text);

}  // namespace remotist::market
