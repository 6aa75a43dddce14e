// Runs work of another thread on an event loop.
#pragma once

#include <functional>
#include <trantor/net/EventLoop.h>
#include <utility>

namespace remotist::market {

// A function of its own so that tests/support/tsan.supp can name it: Debian's libtrantor is built without
// ThreadSanitizer, which therefore does not see that the loop runs the work only after it was queued.
template <class Work>
[[gnu::noinline]] void queue_in_loop(trantor::EventLoop* loop, Work work) {
  loop->queueInLoop(std::function<void()>{std::move(work)});
}

}  // namespace remotist::market
