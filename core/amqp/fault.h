// Exceptions of a broker connection. Both leave it unusable: destroy it and make a new one.
#pragma once

#include <stdexcept>
#include <string>

namespace remotist::amqp {

class Fault : public std::runtime_error {
 public:
  // AMQP's reply code when it was the broker who spoke (403, 404, 406, 320 …), else 0.
  int reply_code() const { return reply_code_; }

 protected:
  Fault(const std::string& what, int reply_code) : std::runtime_error(what), reply_code_(reply_code) {}

 private:
  int reply_code_;
};

// The network, the heartbeat, a broker that shuts down or refuses the login: connect again, later.
class ConnectionLost : public Fault {
 public:
  explicit ConnectionLost(const std::string& what, int reply_code = 0) : Fault(what, reply_code) {}
};

// The broker refused a request: no such queue (404), one declared otherwise (406), one that belongs to
// another connection (405, also for some moments after that connection was lost). Mostly a programming error.
class ChannelClosed : public Fault {
 public:
  ChannelClosed(const std::string& what, int reply_code) : Fault(what, reply_code) {}
};

}  // namespace remotist::amqp
