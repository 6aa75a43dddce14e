// A volunteer's agent that does what a test tells it, over a real WebSocket. Fails the test case when
// something that it waits for does not come.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "core/protocol.h"

namespace remotist::test {

// What a market answers to whoever wants a socket with that token: an HTTP status.
int socket_status(const std::string& socket_url, const std::string& token);

class Agent {
 public:
  // Connects with a machine's token.
  Agent(const std::string& socket_url, const std::string& token);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // The next number, and an acknowledgement of all that was heard.
  void say(protocol::FromAgent body);
  // Exactly this text, in one frame.
  void say_raw(const std::string& text);
  // Hello with what it holds, and the market's answer.
  protocol::Welcome send_hello(std::vector<protocol::AttemptKey> holds = {}, bool taking_jobs = true);

  // The next message of this type; others that come before it are kept for later.
  template <class Body>
  Body hear(std::chrono::milliseconds within = std::chrono::seconds{15}) {
    auto body = hear_if<Body>(within);
    require(body.has_value(), "the market said nothing of the kind in time");
    return std::move(*body);
  }
  // None when it does not come in time.
  template <class Body>
  std::optional<Body> hear_if(std::chrono::milliseconds within) {
    const auto deadline = std::chrono::steady_clock::now() + within;
    do {
      for (auto at = heard_.begin(); at != heard_.end(); ++at) {
        if (auto* const body = std::get_if<Body>(&*at)) {
          Body found = std::move(*body);
          heard_.erase(at);
          return found;
        }
      }
    } while (receive(deadline));
    return std::nullopt;
  }
  // Until the market has acknowledged everything that was said.
  void await_acknowledged();

  // The one job that the market assigns next.
  protocol::Assignment hear_assignment();
  // That, accepted.
  protocol::Assignment take_job();
  void beat(const std::vector<protocol::AttemptKey>& running, std::int64_t cpu_ms = 0,
            bool taking_jobs = true);
  // Beats as often as it should, until the condition holds; false after half a minute.
  template <class Condition>
  bool beats_until(const std::vector<protocol::AttemptKey>& running, Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{30};
    auto due = std::chrono::steady_clock::now();
    while (!condition()) {
      const auto now = std::chrono::steady_clock::now();
      if (now > deadline || closed_) return false;
      if (now >= due) {
        beat(running);
        due = now + std::chrono::milliseconds{500};
      }
      receive(now + std::chrono::milliseconds{50});
    }
    return true;
  }
  void complete(const protocol::AttemptKey& attempt, std::int64_t cpu_ms = 0, const std::string& result = {});

  // The code with which the market closes the connection.
  int close_code();

 private:
  friend int socket_status(const std::string& socket_url, const std::string& token);
  struct Handle;
  // False at the deadline, or when the connection is closed.
  bool receive(std::chrono::steady_clock::time_point deadline);
  static void require(bool condition, const char* why);

  std::unique_ptr<Handle> handle_;
  std::int64_t said_ = 0;
  std::int64_t acknowledged_ = 0;  // by the market
  std::int64_t heard_number_ = 0;
  std::deque<protocol::FromMarket> heard_;
  std::optional<int> closed_;
};

}  // namespace remotist::test
