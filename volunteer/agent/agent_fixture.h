// For tests: a machine session with its attempts, a simulated market that sends what the test wants, actions
// that only record that they were called, and a simulated clock.
#pragma once

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <variant>
#include <vector>

#include "volunteer/agent/machine_session.h"

namespace remotist::volunteer {

inline JobId job(int number) {
  auto digits = std::to_string(number);
  return *JobId::parse("01940000-0000-7000-8000-" + std::string(12 - digits.size(), '0') + digits);
}

struct AgentFixture final : SessionIo, AttemptActions {
  explicit AgentFixture(std::size_t count_max = 4) : attempts_max(count_max) {}

  void connect(const std::string& with_token) override {
    ++connects;
    token = with_token;
  }
  // Every message must be one that a market can read.
  void send(std::string_view text) override {
    auto frame = protocol::read_from_agent(text);
    REQUIRE(frame.ok());
    last = std::max(last, frame->number);
    sent.push_back(std::move(*frame));
  }
  void disconnect(bool with_close_frame) override { (with_close_frame ? closes : aborts) += 1; }
  void store_token(const protocol::Token& stored) override { stored_token = stored.token; }
  void request_token() override { ++token_requests; }
  protocol::Beat read_gauges() override { return {}; }

  bool has_room(std::size_t count) override { return count < attempts_max; }
  void fetch(const protocol::Assignment& assignment, const std::vector<SkippedCheckpoint>& given) override {
    fetches.push_back(assignment);
    skipped = given;
  }
  void run(const protocol::Assignment& assignment) override { runs.push_back(assignment); }
  void deliver(const protocol::AttemptKey& attempt, const Verdict&) override {
    deliveries.push_back(attempt);
  }
  void drop(const protocol::AttemptName& attempt) override { drops.push_back(attempt); }
  std::int64_t cpu_ms(const protocol::AttemptName&) const override { return 1234; }
  void upload(const protocol::AttemptKey&, const LargeValue& value) override { uploads.push_back(value); }
  void discard(const protocol::AttemptName&, const std::string& file) override { discards.push_back(file); }
  void stop_run(const protocol::AttemptName& attempt) override { stopped_runs.push_back(attempt); }
  void set_frozen(const protocol::AttemptName&, bool frozen) override { frozen_runs += frozen ? 1 : -1; }
  void request_checkpoint(const protocol::AttemptName&, bool full) override { requests.push_back(full); }
  void upload_checkpoint(const protocol::AttemptKey&, const CheckpointKeeping::Taken& taken) override {
    checkpoint_uploads.push_back(taken->number);
  }
  void cancel_upload(const protocol::AttemptName&) override { ++cancelled_uploads; }
  void hurry_uploads(const protocol::AttemptName&) override { ++hurried_uploads; }
  void record_checkpoint(const protocol::AttemptKey&, CheckpointRecord record) override {
    checkpoint_records.push_back(std::move(record));
  }
  void confirm_checkpoint(const protocol::AttemptName&, std::uint64_t checkpoint) override {
    confirms.push_back(checkpoint);
  }
  void discard_checkpoint(const protocol::AttemptName&, const std::filesystem::path& file) override {
    discards.push_back(file.string());
  }
  void send_note(const protocol::AttemptKey&, const CheckpointNote& note) override { notes.push_back(note); }
  void report_resume(const protocol::AttemptKey&, const ResumeReport& report) override {
    resume_reports.push_back(report);
  }

  // Connects and receives a welcome.
  void connect_session(std::vector<protocol::AttemptName> keep = {},
                       std::vector<protocol::AttemptName> stop = {}) {
    session.wake(now);
    session.on_connected(now);
    number = 0;
    last = 0;
    receive(protocol::Welcome{.machine_session = MachineSessionId::make(),
                              .beat_ms = 10'000,
                              .lease_ms = 30'000,
                              .keep = keep,
                              .stop = stop});
  }
  void receive(protocol::FromMarket body, std::int64_t ack = 0) {
    const bool alone = std::holds_alternative<protocol::Ack>(body);
    session.on_message(
        text_of(protocol::Frame<protocol::FromMarket>{alone ? 0 : ++number, ack, std::move(body)}), now);
    session.send_pending(now);
  }
  // All messages that were sent.
  void acknowledge() { receive(protocol::Ack{}, last); }
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
    receive(protocol::Assign{{assignment(which, std::move(with_token))}});
  }
  // Assigns, accepts, fetches and starts a job.
  void begin(int which) {
    assign(which);
    acknowledge();
    attempts.on_fetched(name(which), {}, now);
  }
  void end(int which, Verdict verdict) {
    attempts.on_run_ended(name(which), std::move(verdict), now);
    session.send_pending(now);
  }
  void deliver_all(int which, const TransferFault& fault = {}) {
    attempts.on_delivered(name(which), fault, {{"output", "result.rds", "bytes"}}, now);
    session.send_pending(now);
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
    for (const auto& frame : sent) {
      if (const auto* body = std::get_if<Body>(&frame.body)) bodies.push_back(*body);
    }
    return bodies;
  }

  Time now = Time{} + std::chrono::hours{1};
  int connects = 0, closes = 0, aborts = 0, token_requests = 0;
  std::string token, stored_token;
  std::vector<protocol::Assignment> fetches, runs;
  std::vector<protocol::AttemptKey> deliveries;
  std::vector<protocol::AttemptName> drops;
  std::vector<LargeValue> uploads;
  std::vector<std::string> discards;
  std::vector<SkippedCheckpoint> skipped;
  std::vector<protocol::AttemptName> stopped_runs;
  std::vector<bool> requests;  // for checkpoints: whether for full ones
  std::vector<std::uint64_t> checkpoint_uploads, confirms;
  int frozen_runs = 0, cancelled_uploads = 0, hurried_uploads = 0;
  std::vector<CheckpointRecord> checkpoint_records;
  std::vector<CheckpointNote> notes;
  std::vector<ResumeReport> resume_reports;
  std::vector<protocol::Frame<protocol::FromAgent>> sent;
  std::int64_t last = 0, number = 0;
  const std::size_t attempts_max;
  Attempts attempts{*this};
  MachineSession session{*this, attempts, "test", "machine-token", std::chrono::hours{24}, 1};
};

}  // namespace remotist::volunteer
