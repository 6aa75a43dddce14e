// For tests: a market that answers REST calls as the test says, on a thread of its own, one connection after
// the other. It can also break off a connection instead of answering.
#pragma once

#include <arpa/inet.h>
#include <array>
#include <doctest/doctest.h>
#include <functional>
#include <mutex>
#include <netinet/in.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer {

class ScriptedMarket {
 public:
  struct Answer {
    int status = 204;
    std::string body{};
    std::string type = "application/json";
  };
  // Gets "PUT /blob/…" and the body; none: the market breaks off the connection. Runs on the market's thread.
  using Handler = std::function<std::optional<Answer>(const std::string& request, const std::string& body)>;

  explicit ScriptedMarket(Handler handler)
      : handler_(std::move(handler)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in bound{};
    bound.sin_family = AF_INET;
    bound.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof bound;
    REQUIRE(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&bound), size) == 0);
    REQUIRE(::listen(listener_.get(), 8) == 0);
    REQUIRE(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&bound), &size) == 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(bound.sin_port));
    thread_ = std::thread{[this] { serve(); }};
  }
  // The client's connection must be closed before.
  ~ScriptedMarket() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  ScriptedMarket(const ScriptedMarket&) = delete;
  ScriptedMarket& operator=(const ScriptedMarket&) = delete;

  const std::string& url() const { return url_; }
  // All requests so far.
  std::vector<std::string> requests() {
    const std::lock_guard lock{mutex_};
    return requests_;
  }
  std::size_t count(std::string_view begin) {
    std::size_t count = 0;
    for (const auto& request : requests()) count += request.starts_with(begin) ? 1 : 0;
    return count;
  }

 private:
  void serve() {
    for (;;) {
      const Descriptor client{::accept(listener_.get(), nullptr, nullptr)};
      if (!client) return;
      serve(client);
    }
  }
  void serve(const Descriptor& client) {
    std::string bytes;
    for (;;) {
      auto head = bytes.find("\r\n\r\n");
      while (head == std::string::npos) {
        if (!read_more(client, bytes)) return;
        head = bytes.find("\r\n\r\n");
      }
      const auto length = content_length(bytes.substr(0, head));
      while (bytes.size() < head + 4 + length)
        if (!read_more(client, bytes)) return;
      const auto request = bytes.substr(0, bytes.find(" HTTP/"));
      {
        const std::lock_guard lock{mutex_};
        requests_.push_back(request);
      }
      const auto answer = handler_(request, bytes.substr(head + 4, length));
      if (!answer) return;
      bytes.erase(0, head + 4 + length);
      const auto text =
          "HTTP/1.1 " + std::to_string(answer->status) + " Said\r\nContent-Type: " + answer->type +
          (answer->status == 204 ? "" : "\r\nContent-Length: " + std::to_string(answer->body.size())) +
          "\r\n\r\n" + answer->body;
      for (std::size_t sent = 0; sent < text.size();) {
        const auto part = ::send(client.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
        if (part <= 0) return;
        sent += static_cast<std::size_t>(part);
      }
    }
  }
  static bool read_more(const Descriptor& client, std::string& bytes) {
    std::array<char, 1 << 16> piece{};
    const auto got = ::read(client.get(), piece.data(), piece.size());
    if (got > 0) bytes.append(piece.data(), static_cast<std::size_t>(got));
    return got > 0;
  }
  static std::size_t content_length(const std::string& head) {
    constexpr std::string_view kName = "\r\nContent-Length: ";
    const auto at = head.find(kName);
    return at == std::string::npos ? 0 : std::stoul(head.substr(at + kName.size()));
  }

  Handler handler_;
  Descriptor listener_;
  std::string url_;
  std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace remotist::volunteer
