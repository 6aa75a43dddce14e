// Checks of a market's address: whether the connection is encrypted, and whether it leaves this machine.
#pragma once

#include <string>

namespace remotist::volunteer {

// https:// or wss://.
bool is_encrypted(const std::string& url);

// Whether the address is one of this machine's own: localhost, 127.0.0.0/8 or ::1, written as such. False
// for a malformed address.
bool is_loopback(const std::string& url);

// A warning for the owner when a password or token is sent there unencrypted; else empty.
std::string plaintext_warning(const std::string& url);

// Throws std::runtime_error when a machine that logged in at `login_url` must not open its socket at
// `socket_url`: it is no ws:// or wss:// address, or the machine's token would be sent as plain text
// although the login was encrypted and `may_be_plaintext` is false.
void check_socket_url(const std::string& login_url, const std::string& socket_url, bool may_be_plaintext);

// A hint to append to libcurl's error message when the server probably expects the other scheme (TLS or
// plain text); else empty. `fault` is a CURLcode.
std::string scheme_hint(const std::string& url, int fault);

}  // namespace remotist::volunteer
