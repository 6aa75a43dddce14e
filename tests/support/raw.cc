#include "tests/support/raw.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "core/json.h"

namespace remotist::test {
namespace {

using Clock = std::chrono::steady_clock;

sockaddr_in address_of(const std::string& host, std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  REQUIRE(inet_pton(AF_INET, host.c_str(), &address.sin_addr) == 1);
  return address;
}

sockaddr_in address_of(const std::string& url) {
  constexpr std::string_view kScheme = "http://";
  REQUIRE(url.starts_with(kScheme));
  const auto colon = url.rfind(':');
  REQUIRE(colon > kScheme.size());
  return address_of(url.substr(kScheme.size(), colon - kScheme.size()),
                    static_cast<std::uint16_t>(std::stoi(url.substr(colon + 1))));
}

bool wait_for(int socket, short what, Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  pollfd watched{.fd = socket, .events = what, .revents = 0};
  return poll(&watched, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) == 1;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Of the text up to the empty line.
RawAnswer parse_head(std::string_view head) {
  RawAnswer answer;
  constexpr std::size_t kStatusAt = 9;  // after "HTTP/1.1 "
  if (head.size() > kStatusAt)
    std::from_chars(head.data() + kStatusAt, head.data() + head.size(), answer.status);
  std::size_t at = head.find("\r\n");
  while (at != std::string_view::npos) {
    head.remove_prefix(at + 2);
    at = head.find("\r\n");
    const auto line = head.substr(0, at);
    const auto colon = line.find(": ");
    if (colon != std::string_view::npos)
      answer.headers[lower(std::string{line.substr(0, colon)})] = line.substr(colon + 2);
  }
  return answer;
}

}  // namespace

std::string RawAnswer::code() const {
  const auto document = nlohmann::json::parse(body, nullptr, false);
  return document.is_object() ? document.value("code", "") : "";
}

bool RawAnswer::is_problem() const {
  const auto type = headers.find("content-type");
  if (type == headers.end() || type->second != "application/problem+json") return false;
  const auto document = nlohmann::json::parse(body, nullptr, false);
  return document.is_object() && document.value("status", 0) == status && document.contains("detail") &&
         document.value("type", "") == "urn:remotist:problem:" + document.value("code", "-");
}

bool RawAnswer::closes() const {
  const auto connection = headers.find("connection");
  return connection != headers.end() && lower(connection->second) == "close";
}

Raw::Raw(const std::string& url, const char* from_address)
    : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  REQUIRE(socket_ >= 0);
  if (from_address != nullptr) {
    const auto from = address_of(from_address, 0);
    REQUIRE(bind(socket_, reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0);
  }
  const auto to = address_of(url);
  REQUIRE(connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
}

Raw::~Raw() {
  if (socket_ >= 0) close(socket_);
}

Raw::Raw(Raw&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), open_(other.open_), unread_(std::move(other.unread_)) {}

bool Raw::send(std::string_view bytes) {
  const auto deadline = Clock::now() + std::chrono::seconds{10};
  while (!bytes.empty()) {
    if (!wait_for(socket_, POLLOUT, deadline)) return false;
    const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void Raw::finish() {
  shutdown(socket_, SHUT_WR);
}

void Raw::reset() {
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(std::exchange(socket_, -1));
}

// Reads what has come; false when nothing has by the deadline, or the connection has ended.
bool Raw::more(Clock::time_point deadline) {
  std::array<char, 65536> buffer;
  if (!open_ || !wait_for(socket_, POLLIN, deadline)) return false;
  const auto got = recv(socket_, buffer.data(), buffer.size(), 0);
  open_ = got > 0;
  if (open_) unread_.append(buffer.data(), static_cast<std::size_t>(got));
  return open_;
}

RawAnswer Raw::answer(std::chrono::milliseconds within) {
  const auto deadline = Clock::now() + within;
  while (!unread_.contains("\r\n\r\n")) {
    if (!more(deadline)) return {};
  }
  const auto end = unread_.find("\r\n\r\n");
  auto answer = parse_head(std::string_view{unread_}.substr(0, end));
  unread_.erase(0, end + 4);
  const auto length = answer.headers.find("content-length");
  const std::size_t bytes = length == answer.headers.end() ? std::string::npos : std::stoul(length->second);
  while (unread_.size() < bytes) {
    if (!more(deadline)) break;
  }
  answer.body = unread_.substr(0, bytes);
  unread_.erase(0, bytes);
  return answer;
}

std::string Raw::read_until(std::string_view mark) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  auto at = unread_.find(mark);
  for (; at == std::string::npos; at = unread_.find(mark)) REQUIRE(more(deadline));
  std::string read = unread_.substr(0, at + mark.size());
  unread_.erase(0, read.size());
  return read;
}

std::string Raw::read_to_end() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (more(deadline)) {
  }
  return std::exchange(unread_, {});
}

bool Raw::ends(std::chrono::milliseconds within) {
  const auto deadline = Clock::now() + within;
  while (more(deadline)) unread_.clear();
  return !open_;
}

RawAnswer answer_to(const std::string& url, std::string_view bytes) {
  Raw connection{url};
  connection.send(bytes);
  return connection.answer();
}

std::string request_text(std::string_view method, std::string_view path, std::string_view headers,
                         std::string_view body) {
  std::string text = std::string{method} + " " + std::string{path} + " HTTP/1.1\r\nHost: localhost\r\n";
  text += headers;
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + std::string{body};
}

}  // namespace remotist::test
