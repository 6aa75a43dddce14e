// The opening of an AMQP connection: login, tuning, virtual host. Only for connection.cc.
#pragma once

#include <string>

#include "core/amqp/wire.h"

namespace remotist::amqp {

struct Handshake {
  std::string connection_name;     // as `rabbitmqctl list_connections` shows it
  std::chrono::seconds heartbeat;  // what we wish; the broker may shorten it
};

// Requires a wire on which nothing was sent. Afterwards channels can be opened.
// Throws ConnectionLost: no answer by the deadline, stopped, wrong password (403), no such virtual host
// (530).
void shake_hands(Wire& wire, const Address& address, const Handshake& wishes, Clock::time_point deadline,
                 Wake* wake);

}  // namespace remotist::amqp
