#include "core/websocket_handshake.h"

#include <algorithm>
#include <map>

#include "core/json.h"
#include "core/problem.h"

namespace remotist::websocket {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

std::string lower(std::string_view text) {
  std::string lowered{text};
  std::ranges::transform(lowered, lowered.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return lowered;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Takes the first line off.
std::string_view take_line(std::string_view& text) {
  const auto end = text.find(kLineEnd);
  const auto line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + kLineEnd.size());
  return line;
}

// A bare CR or LF is a line's end to some readers of HTTP and not to others (RFC 9112, 2.2).
bool has_controls(std::string_view line) {
  return std::ranges::any_of(line, [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 0x7f; });
}

// "Connection: keep-alive, Upgrade"
bool lists(std::string_view value, std::string_view word) {
  while (!value.empty()) {
    const auto comma = value.find(',');
    if (lower(trimmed(value.substr(0, comma))) == word) return true;
    value.remove_prefix(comma == std::string_view::npos ? value.size() : comma + 1);
  }
  return false;
}

Refusal malformed(std::string detail) {
  return refuse(Code::malformed_request, std::move(detail));
}

}  // namespace

std::optional<std::size_t> head_end(std::string_view bytes) {
  const auto end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  return end + 4;
}

Result<Handshake> read_handshake(std::string_view head) {
  const auto request = take_line(head);
  constexpr std::string_view kMethod = "GET ";
  constexpr std::string_view kVersion = " HTTP/1.1";
  if (!request.starts_with(kMethod) || !request.ends_with(kVersion) ||
      request.size() <= kMethod.size() + kVersion.size()) {
    return malformed("volunteers' sockets are opened with GET and HTTP/1.1");
  }
  if (has_controls(request)) return malformed("the request has control characters");
  auto target = request.substr(kMethod.size(), request.size() - kMethod.size() - kVersion.size());
  std::map<std::string, std::string, std::less<>> headers;
  for (auto line = take_line(head); !line.empty(); line = take_line(head)) {
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0) return malformed("a header has no name");
    if (has_controls(line)) return malformed("a header has control characters");
    headers[lower(line.substr(0, colon))] = trimmed(line.substr(colon + 1));
  }
  if (lower(headers["upgrade"]) != "websocket" || !lists(headers["connection"], "upgrade") ||
      headers["sec-websocket-version"] != "13") {
    return malformed("this is where volunteers' WebSockets are opened (docs/protocol.md)");
  }
  constexpr std::string_view kScheme = "Bearer ";
  const std::string& authorization = headers["authorization"];
  return Handshake{
      .path = std::string{target.substr(0, target.find('?'))},
      .key = headers["sec-websocket-key"],
      .bearer = authorization.starts_with(kScheme) ? authorization.substr(kScheme.size()) : std::string{}};
}

std::string switching_protocols(const std::string& accept_key) {
  return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Accept: " +
         accept_key + "\r\n\r\n";
}

std::string refusal_response(const Refusal& refusal, std::string_view request_id) {
  using nlohmann::json;
  const auto& row = row_of(refusal.code);
  const std::string body =
      problem_document(refusal, request_id).dump(-1, ' ', false, json::error_handler_t::replace);
  return "HTTP/1.1 " + std::to_string(row.http_status) + " " + std::string{row.title} +
         "\r\nContent-Type: " + std::string{kProblemMediaType} +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

}  // namespace remotist::websocket
