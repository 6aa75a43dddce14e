// For tests: a simulated machine, a market that sends what the test wants, and a simulated clock.
#pragma once

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <utility>
#include <vector>

#include "bench/agent_load/machine.h"

namespace remotist::bench {

inline JobId job(int number) {
  auto digits = std::to_string(number);
  return *JobId::parse("01940000-0000-7000-8000-" + std::string(12 - digits.size(), '0') + digits);
}

// Every message of the machine must be one that a market can read.
struct MachineFixture final : MachineIo {
  explicit MachineFixture(Behaviour how = {}) : behaviour(how) {}

  void connect(const std::string& with_token) override {
    ++connects;
    token = with_token;
  }
  void send(std::string_view text) override {
    auto frame = protocol::read_from_agent(text);
    REQUIRE(frame.ok());
    if (frame->number > 0) {
      ++open_messages;
      open_bytes += text.size();
      last = frame->number;
    }
    sent.push_back(std::move(*frame));
  }
  void disconnect(bool with_close_frame) override { (with_close_frame ? closes_sent : aborts) += 1; }
  void set_frozen(bool now_frozen) override { frozen = now_frozen; }
  void upload(const std::string&, const protocol::AttemptKey& attempt) override {
    uploads.push_back(attempt);
  }

  // Connects and receives a welcome.
  void connect_machine(std::vector<protocol::AttemptName> keep = {},
                       std::vector<protocol::AttemptName> stop = {}) {
    machine.wake(now);
    machine.on_connected(now);
    number = 0;
    receive_and_answer(protocol::Welcome{.machine_session = MachineSessionId::make(),
                                         .beat_ms = 10'000,
                                         .lease_ms = 30'000,
                                         .keep = keep,
                                         .stop = stop});
  }
  void receive(protocol::FromMarket body, std::int64_t ack = 0) {
    const bool alone = std::holds_alternative<protocol::Ack>(body);
    arrived.push_back(
        text_of(protocol::Frame<protocol::FromMarket>{alone ? 0 : ++number, ack, std::move(body)}));
    if (ack > 0) open_messages = open_bytes = 0;
    pass_on();
  }
  // What has arrived, unless the machine is frozen.
  void pass_on() {
    if (frozen) return;
    for (const auto& text : std::exchange(arrived, {})) machine.on_message(text, now);
  }
  void receive_and_answer(protocol::FromMarket body, std::int64_t ack = 0) {
    receive(std::move(body), ack);
    machine.send_pending(now);
  }
  void acknowledge() { receive_and_answer(protocol::Ack{}, last); }
  static protocol::Assignment assignment(int which, std::string token = "token") {
    return {.attempt = {{job(which), 1}, std::move(token)},
            .exec_file = "m.R",
            .cpu_cores = 1,
            .ram_mb = 64,
            .disc_mb = 1,
            .cpu_ms_max = {},
            .deadline = {},
            .watched_variables = {}};
  }
  void assign(int first, int last_one) {
    protocol::Assign jobs;
    for (int i = first; i <= last_one; ++i) jobs.jobs.push_back(assignment(i));
    receive_and_answer(std::move(jobs));
  }
  void pass(Clock::duration time) {
    const Time end = now + time;
    while (machine.due() <= end) {
      now = std::max(now, machine.due());
      machine.wake(now);
      if (frozen || arrived.empty()) continue;
      pass_on();
      machine.send_pending(now);
    }
    now = end;
  }
  template <class Body>
  std::vector<Body> all() const {
    std::vector<Body> bodies;
    for (const auto& frame : sent) {
      if (const auto* body = std::get_if<Body>(&frame.body)) bodies.push_back(*body);
    }
    return bodies;
  }

  Behaviour behaviour;
  Report report;
  Journal journal;
  Time now = Time{} + std::chrono::hours{1};
  int connects = 0, closes_sent = 0, aborts = 0;
  bool frozen = false;
  std::string token;
  std::vector<protocol::AttemptKey> uploads;
  std::vector<protocol::Frame<protocol::FromAgent>> sent;
  std::vector<std::string> arrived;
  std::size_t open_messages = 0, open_bytes = 0;
  std::int64_t last = 0, number = 0;
  Machine machine{{MachineId::make(), "machine-token"}, behaviour, report, journal, *this, 1, 0};
};

}  // namespace remotist::bench
