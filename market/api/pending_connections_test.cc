#include "market/api/pending_connections.h"

#include <doctest/doctest.h>
#include <vector>

using namespace remotist::market;

namespace {

struct Connection {
  bool ended = false;
  void forceClose() { ended = true; }  // NOLINT(readability-identifier-naming): as trantor calls it
};

struct Pending {
  static constexpr std::size_t kMost = 3;
  PendingConnections<Connection> pending{kMost};
  std::vector<std::shared_ptr<Connection>> all;
  std::vector<PendingConnections<Connection>::Ticket> tickets;

  void add() {
    all.push_back(std::make_shared<Connection>());
    tickets.push_back(pending.add(all.back()));
  }
  std::vector<std::size_t> ended() const {
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i]->ended) which.push_back(i);
    }
    return which;
  }
};

}  // namespace

TEST_CASE("as many connections as may be pending stay, and each one more ends the oldest") {
  Pending few;
  for (std::size_t i = 0; i < Pending::kMost; ++i) few.add();
  CHECK(few.ended().empty());
  few.add();
  CHECK(few.ended() == std::vector<std::size_t>{0});
  few.add();
  CHECK(few.ended() == std::vector<std::size_t>{0, 1});
}

TEST_CASE("a connection that is no longer pending makes room, and is not ended for its age") {
  Pending few;
  for (std::size_t i = 0; i < Pending::kMost; ++i) few.add();
  few.pending.remove(few.tickets[0]);
  few.add();
  CHECK(few.ended().empty());
  few.add();
  CHECK(few.ended() == std::vector<std::size_t>{1});
  // What was ended is removed when its loop has seen that; nothing else goes with it.
  few.pending.remove(few.tickets[1]);
  few.add();
  CHECK(few.ended() == std::vector<std::size_t>{1, 2});
}

TEST_CASE("a pending connection that has gone by itself is passed over") {
  Pending few;
  for (std::size_t i = 0; i < Pending::kMost; ++i) few.add();
  few.all[0].reset();
  const auto next = std::make_shared<Connection>();
  few.pending.add(next);
  CHECK_FALSE(few.all[1]->ended);
  CHECK_FALSE(next->ended);
}
