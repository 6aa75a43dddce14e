#include "volunteer/sandbox/order.h"

#include <doctest/doctest.h>

using namespace remotist::volunteer;

TEST_CASE("a guest's order comes as it was sent") {
  GuestOrder order{.folder = "g-1", .own_disc = true, .exec_file = "a b/main\n\"x\".R", .uid = 1007};
  order.limits.cpu_ms_max = 5;
  order.limits.ram_mb = 77;
  const auto read = guest_order_in(text_of(order));
  CHECK(read.folder == order.folder);
  CHECK(read.own_disc);
  CHECK(read.exec_file == order.exec_file);
  CHECK(read.uid == 1007);
  CHECK(read.limits.cpu_ms_max == 5);
  CHECK(read.limits.ram_mb == 77);
  order.watched = {"x", "fit$loss every 5"};
  order.resumable = true;
  order.checkpoint_every_ms = 60'000;
  CHECK(guest_order_in(text_of(order)).watched == order.watched);
  CHECK(guest_order_in(text_of(order)).resumable);
  CHECK(guest_order_in(text_of(order)).checkpoint_every_ms == 60'000);
  order.limits.cpu_ms_max.reset();
  CHECK_FALSE(guest_order_in(text_of(order)).limits.cpu_ms_max);
}

TEST_CASE("a zygote's order comes as it was sent, each layer by itself") {
  ZygoteOrder order{{}, true, "/var/lib/guests", true, false};
  order.layers.own_network = false;
  order.layers.own_time = false;
  const auto read = zygote_order_in(text_of(order));
  CHECK(read.uid_range);
  CHECK(read.guests == order.guests);
  CHECK(read.guests_detached);
  CHECK_FALSE(read.memory_counted);
  CHECK_FALSE(read.layers.own_network);
  CHECK_FALSE(read.layers.own_time);
  CHECK(read.layers.own_inodes);
  CHECK(read.layers.own_root);
  CHECK(read.layers.seccomp);
}
