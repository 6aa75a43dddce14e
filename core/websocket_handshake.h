// The request that opens a WebSocket, read strictly and without a byte more than it needs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace remotist::websocket {

struct Handshake {
  std::string path;    // without the query
  std::string key;     // Sec-WebSocket-Key
  std::string bearer;  // the token of Authorization, or empty
};

// Where the head of the request ends in `bytes` (behind the empty line), if it does.
std::optional<std::size_t> head_end(std::string_view bytes);

// Requires a whole head. Refuses with malformed_request what is not HTTP/1.1 or not a WebSocket's GET.
Result<Handshake> read_handshake(std::string_view head);

// 101, with the answer to the key.
std::string switching_protocols(const std::string& accept_key);

// The HTTP response that refuses it, with a problem document. The detail may have bytes that are not UTF-8.
std::string refusal_response(const Refusal& refusal, std::string_view request_id);

}  // namespace remotist::websocket
