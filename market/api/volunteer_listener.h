// The volunteers' sockets: a listener of its own beside Drogon's, on Drogon's event loops.
//
// Why not Drogon's WebSockets: core/websocket.h. A request that is not a WebSocket's, or whose token speaks
// for no machine, is answered and closed; the messages of the others go to market/service/volunteers.h.
#pragma once

#include <memory>
#include <vector>

#include "market/api/context.h"

namespace trantor {
class EventLoop;
}

namespace remotist::market {

class VolunteerListener {
 public:
  // Listens at once, on the loops' threads. Call from the thread of `accepting`, or before it runs.
  VolunteerListener(Context& context, trantor::EventLoop* accepting,
                    const std::vector<trantor::EventLoop*>& loops);
  ~VolunteerListener();

  // Closes all connections and accepts no more. Call from the thread of `accepting`.
  void stop();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace remotist::market
