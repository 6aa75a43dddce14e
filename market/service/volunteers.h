// The machines that are connected to this market: hears what they say, tells them what they must know, and
// writes down every few seconds who was there. docs/protocol.md is what it implements. Thread-safe.
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
#include "market/service/metrics.h"
#include "market/service/partial_recorder.h"
#include "market/service/report_recorder.h"
#include "market/service/volunteer.h"

namespace remotist::market {

struct VolunteersOptions {
  std::chrono::milliseconds beat;        // how often a machine says that it is there; a lease is three
  std::chrono::seconds token_lifetime;   // of a machine's renewed token
  std::function<void()> committed{};     // called after a commit: to the outbox, and of what people watch
  PartialRecorder::Recorded recorded{};  // called after a commit for each watched variable that has changed
};

class Volunteers {
 public:
  Volunteers(const std::string& database_url, pg::Pool& database, VolunteersOptions options,
             Metrics& metrics);

  // The market as a running process; RabbitMQ's queue for it has this name in it.
  MarketId market() const { return market_; }

  // A machine has connected with that token, which was found valid. It is nobody until its hello.
  std::shared_ptr<Volunteer> connect(std::shared_ptr<VolunteerSocket> socket, MachineId machine,
                                     std::string token_hash);
  // One message. Must be called in the order in which they came.
  void hear(const std::shared_ptr<Volunteer>& volunteer, std::string_view text);
  // Its socket is closed. That starts the lease's clock, no more.
  void gone(const std::shared_ptr<Volunteer>& volunteer);

  // What the workers and other markets want our machines to know: a message of our queue.
  void deliver(std::string_view body);

  // Closes every socket; new ones are closed at once.
  void stop();

 private:
  struct Hearing;
  void greet(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number, protocol::Hello hello);
  void report(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number,
              std::vector<protocol::AttemptKey> attempts, std::variant<Accepted, Over> what,
              std::function<void()> after = {});
  // Ends the attempt as failed, if its token is right.
  void end_unreportable(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number,
                        protocol::Malformed malformed, const Refusal& why);
  void record(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number, protocol::Partials partials);
  void part(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number, protocol::Goodbye goodbye);
  void lose(const std::shared_ptr<Volunteer>& volunteer, const protocol::AttemptName& attempt);
  void renew(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number);
  void enter(const std::shared_ptr<Volunteer>& volunteer, SessionId session);
  std::shared_ptr<Volunteer> find(SessionId session) const;
  std::vector<std::shared_ptr<Volunteer>> all() const;
  void write_down(pg::Session& db);
  std::chrono::milliseconds lease() const { return 3 * options_.beat; }

  const MarketId market_ = MarketId::make();
  pg::Pool& database_;
  const VolunteersOptions options_;
  Metrics& metrics_;
  mutable std::mutex mutex_;
  std::map<SessionId, std::shared_ptr<Volunteer>> by_session_;
  bool stopping_ = false;
  pg::Session seen_db_;
  ReportRecorder recorder_;
  PartialRecorder partial_recorder_;
  Periodic seen_;  // last: it is joined before the rest goes
};

}  // namespace remotist::market
