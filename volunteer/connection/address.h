// What a market's address says about the way to it: whether it is encrypted, whether it leaves this machine.
#pragma once

#include <string>

namespace remotist::volunteer {

// https:// or wss://.
bool is_encrypted(const std::string& url);

// Whether the address is one of this machine's own: localhost, 127.0.0.0/8 or ::1, written as such. False
// for what is no address.
bool is_loopback(const std::string& url);

// A sentence for the owner when a password or token sent there can be read on the way; else empty.
std::string plaintext_warning(const std::string& url);

// Throws std::runtime_error when a machine that logged in at `login_url` must not open its socket at
// `socket_url`: it is no ws:// or wss:// address, or the machine's token, which came encrypted, would travel
// there as plain text and `may_be_plaintext` does not say that it may.
void check_socket_url(const std::string& login_url, const std::string& socket_url, bool may_be_plaintext);

// To be appended to what libcurl says of a failed call: when something answered at `url` but not as its
// scheme promises, what that probably means; else empty. `fault` is a CURLcode.
std::string scheme_hint(const std::string& url, int fault);

}  // namespace remotist::volunteer
