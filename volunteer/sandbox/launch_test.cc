#include "volunteer/sandbox/launch.h"

#include <doctest/doctest.h>

using namespace remotist::volunteer;

TEST_CASE("a guest's configuration arrives as it was sent") {
  GuestConfig config{.folder = "g-1", .own_disc = true, .exec_file = "a b/main\n\"x\".R", .uid = 1007};
  config.limits.cpu_ms_max = 5;
  config.limits.ram_mb = 77;
  const auto read = parse_guest_config(encode(config));
  CHECK(read.folder == config.folder);
  CHECK(read.own_disc);
  CHECK(read.exec_file == config.exec_file);
  CHECK(read.uid == 1007);
  CHECK(read.limits.cpu_ms_max == 5);
  CHECK(read.limits.ram_mb == 77);
  config.watched_variables = {"x", "fit$loss every 5"};
  config.resumable = true;
  config.checkpoint_every_ms = 60'000;
  CHECK(parse_guest_config(encode(config)).watched_variables == config.watched_variables);
  CHECK(parse_guest_config(encode(config)).resumable);
  CHECK(parse_guest_config(encode(config)).checkpoint_every_ms == 60'000);
  config.output_marker = std::string("\0\xff prefix", 9);
  config.exact_times = config.resumes = true;
  config.watched[1] = {remotist::WatchedKind::removed, std::string("\0h", 2)};
  const auto resumed = parse_guest_config(encode(config));
  CHECK(resumed.output_marker == config.output_marker);
  CHECK(resumed.exact_times);
  CHECK(resumed.resumes);
  REQUIRE(resumed.watched.size() == 1);
  CHECK(resumed.watched.at(1).kind == remotist::WatchedKind::removed);
  CHECK(resumed.watched.at(1).hash == config.watched[1].hash);
  config.limits.cpu_ms_max.reset();
  CHECK_FALSE(parse_guest_config(encode(config)).limits.cpu_ms_max);
}

TEST_CASE("a zygote's configuration arrives as it was sent, with each protection by itself") {
  ZygoteConfig config{{}, true, "/var/lib/guests", true, false};
  config.protections.own_network = false;
  config.protections.own_time = false;
  const auto read = parse_zygote_config(encode(config));
  CHECK(read.uid_range);
  CHECK(read.guests == config.guests);
  CHECK(read.guests_detached);
  CHECK_FALSE(read.memory_counted);
  CHECK_FALSE(read.protections.own_network);
  CHECK_FALSE(read.protections.own_time);
  CHECK(read.protections.own_inodes);
  CHECK(read.protections.own_root);
  CHECK(read.protections.seccomp);
}
