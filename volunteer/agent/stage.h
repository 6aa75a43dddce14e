// For tests: an agent's session and jobs, and around them a market that says what the test wants, hands that
// do nothing by themselves, and a clock of its own.
#pragma once

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <variant>
#include <vector>

#include "volunteer/agent/session.h"

namespace remotist::volunteer {

inline JobId job(int number) {
  auto digits = std::to_string(number);
  return *JobId::parse("01940000-0000-7000-8000-" + std::string(12 - digits.size(), '0') + digits);
}

struct Stage final : Surroundings, Hands {
  explicit Stage(std::size_t most_attempts = 4) : attempts_max(most_attempts) {}

  void dial(const std::string& with_token) override {
    ++dials;
    token = with_token;
  }
  // Every message must be one that a market can read.
  void send(std::string_view text) override {
    auto frame = protocol::read_from_agent(text);
    REQUIRE(frame.ok());
    last = std::max(last, frame->number);
    said.push_back(std::move(*frame));
  }
  void hang_up(bool politely) override { (politely ? farewells : vanishings) += 1; }
  void keep_token(const protocol::Token& kept) override { kept_token = kept.token; }
  void ask_for_token() override { ++asked_for_token; }
  protocol::Beat readings() override { return {}; }

  void fetch(const protocol::Assignment& assignment) override { fetches.push_back(assignment); }
  void run(const protocol::Assignment& assignment) override { runs.push_back(assignment); }
  void deliver(const protocol::AttemptKey& attempt, const Verdict&) override {
    deliveries.push_back(attempt);
  }
  void drop(const protocol::AttemptName& attempt) override { drops.push_back(attempt); }
  std::int64_t cpu_ms(const protocol::AttemptName&) const override { return 1234; }
  void upload(const protocol::AttemptKey&, const LargeValue& value) override { uploads.push_back(value); }
  void discard(const protocol::AttemptName&, const std::string& file) override { discards.push_back(file); }

  // Connected and welcomed.
  void connect(std::vector<protocol::AttemptName> keep = {}, std::vector<protocol::AttemptName> stop = {}) {
    session.wake(now);
    session.opened(now);
    number = 0;
    last = 0;
    tell(protocol::Welcome{
        .session = SessionId::make(), .beat_ms = 10'000, .lease_ms = 30'000, .keep = keep, .stop = stop});
  }
  void tell(protocol::FromMarket body, std::int64_t ack = 0) {
    const bool alone = std::holds_alternative<protocol::Ack>(body);
    session.heard(text_of(protocol::Frame<protocol::FromMarket>{alone ? 0 : ++number, ack, std::move(body)}),
                  now);
    session.speak(now);
  }
  // Of all that was said.
  void acknowledge() { tell(protocol::Ack{}, last); }
  static protocol::AttemptName name(int which, int attempt = 1) { return {job(which), attempt}; }
  static protocol::Assignment assignment(int which, std::string with_token = "token", int attempt = 1) {
    return {.attempt = {name(which, attempt), std::move(with_token)},
            .exec_file = "main.R",
            .cpu_cores = 1,
            .ram_mb = 64,
            .disc_mb = 1,
            .cpu_ms_max = {},
            .deadline = {},
            .watched_variables = {"x", "y"}};
  }
  void assign(int which, std::string with_token = "token") {
    tell(protocol::Assign{{assignment(which, std::move(with_token))}});
  }
  // Assigned, accepted, fetched and running.
  void begin(int which) {
    assign(which);
    acknowledge();
    jobs.fetched(name(which), {}, now);
  }
  void end(int which, Verdict verdict) {
    jobs.ran(name(which), std::move(verdict), now);
    session.speak(now);
  }
  void deliver_all(int which, const TransferFault& fault = {}) {
    jobs.delivered(name(which), fault, {{"output", "result.rds", "bytes"}}, now);
    session.speak(now);
  }
  void pass(Clock::duration time) {
    const Time until = now + time;
    while (session.due() <= until) {
      now = std::max(now, session.due());
      session.wake(now);
    }
    now = until;
  }
  template <class Body>
  std::vector<Body> all() const {
    std::vector<Body> bodies;
    for (const auto& frame : said) {
      if (const auto* body = std::get_if<Body>(&frame.body)) bodies.push_back(*body);
    }
    return bodies;
  }

  Time now = Time{} + std::chrono::hours{1};
  int dials = 0, farewells = 0, vanishings = 0, asked_for_token = 0;
  std::string token, kept_token;
  std::vector<protocol::Assignment> fetches, runs;
  std::vector<protocol::AttemptKey> deliveries;
  std::vector<protocol::AttemptName> drops;
  std::vector<LargeValue> uploads;
  std::vector<std::string> discards;
  std::vector<protocol::Frame<protocol::FromAgent>> said;
  std::int64_t last = 0, number = 0;
  const std::size_t attempts_max;
  Jobs jobs{*this, attempts_max};
  Session session{*this, jobs, "machine-token", std::chrono::hours{24}, 1};
};

}  // namespace remotist::volunteer
