// The machines that are connected to this market, by the protocol of docs/protocol.md: handles their
// messages, sends them assignments and stops, and records at intervals which of them have sent beats.
// Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "core/periodic.h"
#include "core/pg/pool.h"
#include "core/queue_messages.h"
#include "market/service/assignment_sender.h"
#include "market/service/metrics.h"
#include "market/service/report_recorder.h"
#include "market/service/volunteer.h"
#include "market/service/watched_record_recorder.h"

namespace remotist::market {

struct VolunteersOptions {
  std::chrono::milliseconds beat;       // interval of a machine's beats; a lease is three of them
  std::chrono::seconds token_lifetime;  // of renewed machine tokens
  std::chrono::milliseconds loss_mean;  // mean time between losses of a machine
  std::function<void()> committed{};    // called after a commit: the outbox and jobs may have changed
  WatchedRecordRecorder::OnRecorded
      recorded{};  // called after a commit for each watched variable with a new record
};

class Volunteers {
 public:
  Volunteers(const std::string& database_url, pg::Pool& database, VolunteersOptions options,
             Metrics& metrics);

  // The id of this market process, which is part of its queue's name.
  MarketId market() const { return market_; }

  // A machine has connected with a valid token. It has no machine session before its hello.
  std::shared_ptr<Volunteer> connect(std::shared_ptr<VolunteerSocket> socket, MachineId machine,
                                     std::string token_hash);
  // Handles one message. Call in the order in which they arrived.
  void on_message(const std::shared_ptr<Volunteer>& volunteer, std::string_view text);
  // Its socket was closed. The machine session goes on until its lease expires.
  void on_disconnect(const std::shared_ptr<Volunteer>& volunteer);

  // Handles a message of this market's queue, from a worker or another market.
  void on_queue_message(std::string_view body);

  // Closes all sockets, and from now on each new one.
  void stop();

 private:
  struct MessageHandler;
  void on_hello(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number, protocol::Hello hello);
  void report(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number,
              std::vector<protocol::AttemptKey> attempts, std::variant<AttemptAccepted, AttemptEnded> what,
              std::function<void()> after = {});
  // Ends the attempt as failed, if its token is valid.
  void end_unreportable(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number,
                        protocol::Malformed malformed, const Refusal& why);
  void record(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number,
              protocol::WatchedRecords watched);
  void on_goodbye(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number,
                  protocol::Goodbye goodbye);
  // `held`: the machine may still have it, and is sent a stop.
  void report_lost(const std::shared_ptr<Volunteer>& volunteer, const protocol::AttemptName& attempt,
                   bool held);
  void renew(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number);
  void add_session(const std::shared_ptr<Volunteer>& volunteer, MachineSessionId session);
  void handle(const queue::Assign& assign);
  void handle(const queue::Stop& stop);
  void handle(const queue::HandOver& hand_over);
  void handle(const queue::Close& close);
  std::shared_ptr<Volunteer> find(MachineSessionId session) const;
  std::vector<std::shared_ptr<Volunteer>> all() const;
  void close_if_unresponsive(Volunteer& volunteer, Volunteer::Clock::time_point now) const;
  // Every half beat interval: closes unresponsive sockets, reports attempts that beats no longer name, and
  // records the beats of all.
  void check_beats(pg::Connection& db);
  std::chrono::milliseconds lease() const { return 3 * options_.beat; }

  const MarketId market_ = MarketId::make();
  pg::Pool& database_;
  const VolunteersOptions options_;
  Metrics& metrics_;
  mutable std::mutex mutex_;
  std::map<MachineSessionId, std::shared_ptr<Volunteer>> by_machine_session_;
  bool stopping_ = false;
  AssignmentSender assignments_;
  pg::Connection beats_db_;
  ReportRecorder recorder_;
  WatchedRecordRecorder watched_recorder_;
  Periodic beats_;  // last member: joined before the others are destroyed
};

}  // namespace remotist::market
