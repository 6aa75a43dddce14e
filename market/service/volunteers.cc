#include "market/service/volunteers.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ranges>

#include "core/limits.h"
#include "core/log.h"
#include "core/token.h"
#include "core/utf8.h"
#include "market/service/open_machine_session.h"
#include "market/service/record_beats.h"

namespace remotist::market {
namespace {

using protocol::AttemptKey;
using protocol::AttemptName;
using websocket::CloseCode;

constexpr std::string_view kDetailPrefix = "the machine said what the market does not accept: ";

}  // namespace

Volunteers::Volunteers(const std::string& database_url, pg::Pool& database, VolunteersOptions options,
                       Metrics& metrics)
    : database_(database),
      options_(std::move(options)),
      metrics_(metrics),
      assignments_(database_url, options_.loss_mean, metrics),
      beats_db_(database_url, {.by_index = true}),
      recorder_(database_url, options_.committed, metrics),
      watched_recorder_(database_url, options_.recorded, metrics),
      beats_("volunteers_seen", options_.beat / 2,
             [this](const std::stop_token&) { check_beats(beats_db_); }) {}

std::shared_ptr<Volunteer> Volunteers::connect(std::shared_ptr<VolunteerSocket> socket, MachineId machine,
                                               std::string token_hash) {
  return std::make_shared<Volunteer>(std::move(socket), machine, std::move(token_hash));
}

// Calls the handler of one message.
struct Volunteers::MessageHandler {
  Volunteers& market;
  const std::shared_ptr<Volunteer>& from;
  const std::int64_t number;
  const std::size_t bytes;

  void operator()(protocol::Hello& hello) const { market.on_hello(from, number, std::move(hello)); }
  void operator()(protocol::Accept& accept) const {
    market.report(from, number, std::move(accept.attempts), AttemptAccepted{});
  }
  void operator()(protocol::Refuse& refused) const {
    market.report(from, number, std::move(refused.attempts), AttemptEnded{AttemptOutcome::refused});
  }
  void operator()(protocol::Beat& beat) const {
    from->beat(beat);
    from->done(number);
  }
  void operator()(protocol::Progress& progress) const {
    from->progress(progress);
    from->done(number);
  }
  void operator()(protocol::WatchedRecords& watched) const {
    if (from->may_record(watched, bytes)) return market.record(from, number, std::move(watched));
    from->problem({number, "rate_limited", "more records a second than an attempt may bring: say them again",
                   watched.attempt.name});
    from->done(number);
  }
  void operator()(protocol::Outcome& outcome) const {
    market.report(from, number, {std::move(outcome.attempt)},
                  AttemptEnded{row_of(outcome.kind).recorded_as.value(), outcome.cpu_ms, outcome.failure_code,
                               std::move(outcome.failure_detail), std::move(outcome.files)});
  }
  void operator()(protocol::Goodbye& goodbye) const { market.on_goodbye(from, number, std::move(goodbye)); }
  void operator()(protocol::Renew&) const { market.renew(from, number); }
  void operator()(protocol::Ack&) const {}
};

void Volunteers::on_message(const std::shared_ptr<Volunteer>& volunteer, std::string_view text) {
  auto frame = protocol::read_from_agent(text);
  if (frame) {
    const bool hello = std::holds_alternative<protocol::Hello>(frame->body);
    if (!volunteer->begin(frame->number, frame->ack, hello, text.size())) return;
    std::visit(MessageHandler{*this, volunteer, frame->number, text.size()}, frame->body);
  } else if (auto malformed = protocol::read_malformed(text)) {
    if (!volunteer->begin(malformed->number, malformed->ack, false, text.size())) return;
    end_unreportable(volunteer, malformed->number, std::move(malformed->body), frame.refusal());
  } else {
    volunteer->close(CloseCode::protocol_error, frame.refusal().detail);
  }
}

// Only this attempt ends: the machine's others belong to other owners.
void Volunteers::end_unreportable(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number,
                                  protocol::Malformed malformed, const Refusal& why) {
  const auto name = malformed.attempt.name;
  const auto detail = clean_text(why.detail, limits::kFailureDetailBytesMax - kDetailPrefix.size());
  log::warn("attempt_unreportable", {{"machine", volunteer->machine().text()},
                                     {"job", name.job.text()},
                                     {"attempt", name.number},
                                     {"why", detail}});
  AttemptEnded ended{.outcome = AttemptOutcome::failed,
                     .cpu_ms = malformed.cpu_ms,
                     .failure_code = FailureCode::unreportable,
                     .failure_detail = std::string{kDetailPrefix} + detail};
  recorder_.record({volunteer->machine(), name, token_hash(malformed.attempt.token), std::move(ended)},
                   [volunteer, number, name, code = why.code, detail](ReportRecorder::CommitResult result,
                                                                      const std::optional<Refusal>&) {
                     const bool recorded = result == ReportRecorder::CommitResult::recorded;
                     if (result != ReportRecorder::CommitResult::stale)
                       volunteer->problem({number, std::string{row_of(code).name}, detail, name});
                     if (result != ReportRecorder::CommitResult::refused)
                       volunteer->forget(name,
                                         recorded ? name_of(FailureCode::unreportable) : "stale_attempt");
                     volunteer->done(number);
                   });
}

void Volunteers::on_hello(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number,
                          protocol::Hello hello) {
  if (!std::ranges::contains(hello.protocols, protocol::kVersion)) {
    return volunteer->close(CloseCode::unsupported, "this market speaks version 1");
  }
  MachineHello session{.machine = volunteer->machine(),
                       .token_hash = volunteer->token_hash(),
                       .market = market_,
                       .connection = volunteer->connection(),
                       .lease = lease(),
                       .loss_mean = options_.loss_mean,
                       .message = std::move(hello)};
  const bool queued =
      database_.try_run([this, volunteer, number, session = std::move(session)](pg::Connection& db) {
        try {
          const auto opened = open_machine_session(db, session);
          if (!opened) return volunteer->close(CloseCode::unauthenticated, "the token is no longer valid");
          add_session(volunteer, opened->machine_session);
          volunteer->welcome(number, *opened, session.message.taking_jobs, options_.beat, lease());
          // Its agent has lost them. In a transaction of their own: their jobs are locked before the session.
          for (const auto& name : opened->lost) report_lost(volunteer, name, false);
          // The socket may have closed before add_session().
          if (volunteer->is_disconnected()) on_disconnect(volunteer);
          options_.committed();
        } catch (const std::exception& fault) {
          log::warn("hello_failed", {{"machine", session.machine.text()}, {"why", fault.what()}});
          volunteer->close(CloseCode::going_away, "the database is away: connect again");
        }
      });
  if (!queued) volunteer->close(CloseCode::going_away, "this market is busy: connect again");
}

void Volunteers::add_session(const std::shared_ptr<Volunteer>& volunteer, MachineSessionId session) {
  std::shared_ptr<Volunteer> before;
  {
    const std::lock_guard lock{mutex_};
    if (stopping_) return volunteer->close(CloseCode::going_away, "this market stops");
    before = std::exchange(by_machine_session_[session], volunteer);
    metrics_.volunteers_connected.Set(static_cast<double>(by_machine_session_.size()));
  }
  if (before && before != volunteer)
    before->close(CloseCode::replaced, "the same machine has connected again");
}

void Volunteers::on_disconnect(const std::shared_ptr<Volunteer>& volunteer) {
  volunteer->mark_disconnected();
  const auto session = volunteer->machine_session();
  if (!session) return;
  const std::lock_guard lock{mutex_};
  const auto found = by_machine_session_.find(*session);
  if (found == by_machine_session_.end() || found->second != volunteer) return;
  by_machine_session_.erase(found);
  metrics_.volunteers_connected.Set(static_cast<double>(by_machine_session_.size()));
}

void Volunteers::report(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number,
                        std::vector<AttemptKey> attempts, std::variant<AttemptAccepted, AttemptEnded> what,
                        std::function<void()> after) {
  if (attempts.empty()) {
    if (after) after();
    return volunteer->done(number);
  }
  const bool accepts = std::holds_alternative<AttemptAccepted>(what);
  // The message is acknowledged after its last report.
  const auto left = std::make_shared<std::atomic<std::size_t>>(attempts.size());
  for (const auto& key : attempts) {
    auto told = [volunteer, number, left, accepts, after, name = key.name](
                    ReportRecorder::CommitResult result, const std::optional<Refusal>& why) {
      if (result == ReportRecorder::CommitResult::recorded) {
        if (accepts) {
          volunteer->accepted(name);
        } else {
          volunteer->forget(name);
        }
      } else if (result == ReportRecorder::CommitResult::stale) {
        volunteer->forget(name, "stale_attempt");
      } else {
        volunteer->problem({number, std::string{row_of(why->code).name}, why->detail, name});
      }
      if (left->fetch_sub(1) != 1) return;
      if (after) after();
      volunteer->done(number);
    };
    auto said = what;
    if (auto* const ended = std::get_if<AttemptEnded>(&said); ended && !ended->cpu_ms)
      ended->cpu_ms = volunteer->cpu_ms(key.name);
    recorder_.record({volunteer->machine(), key.name, token_hash(key.token), std::move(said)},
                     std::move(told));
  }
}

void Volunteers::record(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number,
                        protocol::WatchedRecords watched) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  WatchedReport report{.machine = volunteer->machine(),
                       .attempt = watched.attempt.name,
                       .token_hash = token_hash(watched.attempt.token),
                       .records = std::move(watched.records),
                       .said_at_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count()};
  watched_recorder_.record(
      std::move(report), [volunteer, number, name = watched.attempt.name](const WatchedResult& result) {
        if (!result && result.refusal().code == Code::stale_attempt) {
          volunteer->forget(name, "stale_attempt");
        } else if (!result) {
          const auto& why = result.refusal();
          volunteer->problem({number, std::string{row_of(why.code).name}, why.detail, name});
        }
        volunteer->done(number);
      });
}

void Volunteers::on_goodbye(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number,
                            protocol::Goodbye goodbye) {
  volunteer->stop_taking_jobs();
  const auto session = *volunteer->machine_session();
  // If this fails, the expiry of the lease has the same effect later.
  const auto run = [this](auto work, auto then) {
    const bool queued = database_.try_run([work, then](pg::Connection& db) {
      try {
        work(db);
      } catch (const std::exception& fault) {
        log::warn("goodbye_failed", {{"why", fault.what()}});
      }
      then();
    });
    if (!queued) then();
  };
  // In this order: stop offering, report the attempts that it gives back, end the machine session.
  const auto end = [run, session] {
    run([session](pg::Connection& db) { end_idle_machine_session(db, session); }, [] {});
  };
  run([volunteer, session](pg::Connection& db) { stop_offering(db, session, volunteer->connection()); },
      [this, volunteer, number, goodbye = std::move(goodbye), end] {
        report(volunteer, number, goodbye.attempts,
               AttemptEnded{.outcome = AttemptOutcome::handed_back, .leaving = true}, end);
      });
}

void Volunteers::report_lost(const std::shared_ptr<Volunteer>& volunteer, const AttemptName& attempt,
                             bool held) {
  log::info(held ? "attempt_unnamed" : "attempt_forgotten",
            {{"machine", volunteer->machine().text()}, {"job", attempt.job.text()}});
  recorder_.record(
      {volunteer->machine(), attempt, std::nullopt, AttemptEnded{AttemptOutcome::lost}},
      [volunteer, attempt, held](ReportRecorder::CommitResult result, const std::optional<Refusal>&) {
        // What could not be recorded is tried again when its beats have not named it for a lease.
        if (!held && result == ReportRecorder::CommitResult::refused) return;
        volunteer->forget(attempt, held ? "stale_attempt" : "");
      });
}

void Volunteers::renew(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number) {
  const bool queued = database_.try_run([this, volunteer, number](pg::Connection& db) {
    try {
      auto token = renew_token(db, volunteer->machine(), volunteer->token_hash(), options_.token_lifetime);
      if (token) {
        volunteer->token(std::move(*token));
      } else if (token.refusal().code == Code::unauthenticated) {
        return volunteer->close(CloseCode::unauthenticated, token.refusal().detail);
      } else {
        volunteer->problem({number, std::string{row_of(token.refusal().code).name}, token.refusal().detail});
      }
    } catch (const std::exception& fault) {
      volunteer->problem({number, "database_unavailable", fault.what()});
    }
    volunteer->done(number);
  });
  if (queued) return;
  volunteer->problem({number, "busy", "ask again in a moment"});
  volunteer->done(number);
}

std::shared_ptr<Volunteer> Volunteers::find(MachineSessionId session) const {
  const std::lock_guard lock{mutex_};
  const auto found = by_machine_session_.find(session);
  return found == by_machine_session_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<Volunteer>> Volunteers::all() const {
  const std::lock_guard lock{mutex_};
  const auto values = std::views::values(by_machine_session_);
  return {values.begin(), values.end()};
}

void Volunteers::on_queue_message(std::string_view body) {
  auto message = queue::read_for_market(body);
  if (!message) throw std::runtime_error{message.refusal().detail};
  std::visit([this](const auto& read) { handle(read); }, *message);
}

void Volunteers::handle(const queue::Assign& assign) {
  std::vector<AssignmentSender::Item> items;
  for (const auto& [session, name] : assign.attempts) {
    // A machine that has disconnected gets the assignment with the answer to its next hello.
    if (auto volunteer = find(session)) items.push_back({std::move(volunteer), session, name});
  }
  assignments_.send(std::move(items));
}

void Volunteers::handle(const queue::Stop& stop) {
  for (const auto& [session, name] : stop.attempts) {
    if (const auto volunteer = find(session)) volunteer->forget(name, stop.reason);
  }
}

void Volunteers::handle(const queue::HandOver& hand_over) {
  for (const auto& [session, name] : hand_over.attempts) {
    if (const auto volunteer = find(session)) volunteer->hand_over({name}, hand_over.reason);
  }
}

void Volunteers::handle(const queue::Close& close) {
  for (const MachineSessionId session : close.machine_sessions) {
    if (const auto volunteer = find(session)) volunteer->close(CloseCode::unauthenticated, close.reason);
  }
}

void Volunteers::close_if_unresponsive(Volunteer& volunteer, Volunteer::Clock::time_point now) const {
  if (volunteer.is_silent(lease(), now)) {
    volunteer.close(CloseCode::session_ended, "nothing was heard for a lease");
  } else if (volunteer.is_stalled(lease(), now)) {
    volunteer.close(CloseCode::too_much, "nothing was acknowledged for a lease");
  }
}

void Volunteers::check_beats(pg::Connection& db) {
  const auto volunteers = all();
  const auto now = Volunteer::Clock::now();
  for (const auto& volunteer : volunteers) {
    close_if_unresponsive(*volunteer, now);
    for (const auto& attempt : volunteer->remove_unnamed(lease(), now)) report_lost(volunteer, attempt, true);
  }
  record_beats(db, volunteers, options_.committed);
}

void Volunteers::stop() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  for (const auto& volunteer : all())
    volunteer->close(CloseCode::going_away, "this market stops: connect to another");
}

}  // namespace remotist::market
