// Hands work from another thread to an event loop.
#pragma once

#include <functional>
#include <trantor/net/EventLoop.h>
#include <utility>

namespace remotist::market {

// A function of its own so that tests/support/tsan.supp can name it: Debian's libtrantor is built without
// ThreadSanitizer, which therefore does not see that the loop takes the work only after it was put there.
template <class Work>
[[gnu::noinline]] void hand_over(trantor::EventLoop* loop, Work work) {
  loop->queueInLoop(std::function<void()>{std::move(work)});
}

}  // namespace remotist::market
