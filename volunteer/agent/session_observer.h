// Sees the messages of a MachineSession in both directions: for programs that count or check them. None of
// these may call the session back before it returns.
#pragma once

#include <cstddef>

#include "core/protocol.h"
#include "core/result.h"
#include "volunteer/connection/sent_message.h"

namespace remotist::volunteer {

class SessionObserver {
 public:
  virtual ~SessionObserver() = default;
  // Before the session handles it. A refusal: it is no message of the protocol. `bytes`: of its text.
  virtual void on_received(const Result<protocol::Frame<protocol::FromMarket>>& message,
                           std::size_t bytes) = 0;
  virtual void on_sent(const protocol::Frame<protocol::FromAgent>& message) = 0;
  // Before the session passes it on. `message.attempts` are those of which the market has accepted the
  // message.
  virtual void on_acknowledged(const SentMessage& message) = 0;
};

}  // namespace remotist::volunteer
