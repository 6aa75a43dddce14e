#include "market/service/volunteers.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ranges>

#include "core/json.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/token.h"
#include "core/utf8.h"

namespace remotist::market {
namespace {

using protocol::AttemptKey;
using protocol::AttemptName;
using websocket::CloseCode;

// A close frame has room for some 120 bytes.
constexpr std::size_t kReasonBytes = 120;

// What becomes of an attempt whose machine says what cannot be accepted.
constexpr std::string_view kUnreportable = "unreportable";
constexpr std::string_view kDetailPrefix = "the machine said what the market does not accept: ";

store::AttemptOutcome outcome_of(protocol::OutcomeKind kind) {
  switch (kind) {
    case protocol::OutcomeKind::completed:
      return store::AttemptOutcome::completed;
    case protocol::OutcomeKind::failed:
      return store::AttemptOutcome::failed;
    // Of an attempt that we have not ended ourselves, both mean that the machine does not go on. Of one that
    // we have, only what the machine measured counts.
    case protocol::OutcomeKind::cancelled:
    case protocol::OutcomeKind::handed_back:
      return store::AttemptOutcome::handed_back;
  }
  std::abort();
}

protocol::Assignment assignment_of(const nlohmann::json& job) {
  // Written by a worker with the protocol's own words, and read as an agent would.
  const nlohmann::json frame{{"type", "assign"}, {"seq", 1}, {"jobs", {job}}};
  const auto read = protocol::read_from_market(frame.dump());
  if (!read) throw std::runtime_error{read.refusal().detail};
  return std::get<protocol::Assign>(read->body).jobs.front();
}

AttemptName name_of(const nlohmann::json& stop) {
  return {JobId::parse(stop.at("job").get<std::string>()).value(), stop.at("attempt").get<int>()};
}

SessionId session_of(const nlohmann::json& item) {
  return SessionId::parse(item.at("session").get<std::string>()).value();
}

}  // namespace

Volunteers::Volunteers(const std::string& database_url, pg::Pool& database, VolunteersOptions options,
                       Metrics& metrics)
    : database_(database),
      options_(std::move(options)),
      metrics_(metrics),
      seen_db_(database_url, {.by_index = true}),
      recorder_(database_url, options_.committed, metrics),
      partial_recorder_(database_url, options_.recorded, metrics),
      seen_("volunteers_seen", options_.beat / 2, [this](const std::stop_token&) { write_down(seen_db_); }) {}

std::shared_ptr<Volunteer> Volunteers::connect(std::shared_ptr<VolunteerSocket> socket, MachineId machine,
                                               std::string token_hash) {
  return std::make_shared<Volunteer>(std::move(socket), machine, std::move(token_hash));
}

// One message's way to the one who deals with it.
struct Volunteers::Hearing {
  Volunteers& market;
  const std::shared_ptr<Volunteer>& from;
  const std::int64_t number;
  const std::size_t bytes;

  void operator()(protocol::Hello& hello) const { market.greet(from, number, std::move(hello)); }
  void operator()(protocol::Accept& accept) const {
    market.report(from, number, std::move(accept.attempts), Accepted{});
  }
  void operator()(protocol::Refuse& refused) const {
    market.report(from, number, std::move(refused.attempts), Over{store::AttemptOutcome::refused});
  }
  void operator()(protocol::Beat& beat) const {
    from->beat(beat);
    from->done(number);
  }
  void operator()(protocol::Progress& progress) const {
    from->progress(progress);
    from->done(number);
  }
  void operator()(protocol::Partials& partials) const {
    if (from->may_record(partials, bytes)) return market.record(from, number, std::move(partials));
    from->problem({number, "rate_limited", "more records a second than an attempt may bring: say them again",
                   partials.attempt.name});
    from->done(number);
  }
  void operator()(protocol::Outcome& outcome) const {
    market.report(from, number, {std::move(outcome.attempt)},
                  Over{outcome_of(outcome.kind), outcome.cpu_ms, std::move(outcome.failure_code),
                       std::move(outcome.failure_detail), std::move(outcome.files)});
  }
  void operator()(protocol::Goodbye& goodbye) const { market.part(from, number, std::move(goodbye)); }
  void operator()(protocol::Renew&) const { market.renew(from, number); }
  void operator()(protocol::Ack&) const {}
};

void Volunteers::hear(const std::shared_ptr<Volunteer>& volunteer, std::string_view text) {
  auto frame = protocol::read_from_agent(text);
  if (frame) {
    const bool hello = std::holds_alternative<protocol::Hello>(frame->body);
    if (!volunteer->begin(frame->number, frame->ack, hello, text.size())) return;
    std::visit(Hearing{*this, volunteer, frame->number, text.size()}, frame->body);
  } else if (auto malformed = protocol::read_malformed(text)) {
    if (!volunteer->begin(malformed->number, malformed->ack, false, text.size())) return;
    end_unreportable(volunteer, malformed->number, std::move(malformed->body), frame.refusal());
  } else {
    volunteer->close(CloseCode::protocol_error, frame.refusal().detail.substr(0, kReasonBytes));
  }
}

// The machine's other attempts are other people's: only this one ends.
void Volunteers::end_unreportable(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number,
                                  protocol::Malformed malformed, const Refusal& why) {
  const auto name = malformed.attempt.name;
  const auto detail = clean_text(why.detail, limits::kFailureDetailBytesMax - kDetailPrefix.size());
  log::warn("attempt_unreportable", {{"machine", volunteer->machine().text()},
                                     {"job", name.job.text()},
                                     {"attempt", name.number},
                                     {"why", detail}});
  Over over{.outcome = store::AttemptOutcome::failed,
            .cpu_ms = malformed.cpu_ms,
            .failure_code = std::string{kUnreportable},
            .failure_detail = std::string{kDetailPrefix} + detail};
  recorder_.record({volunteer->machine(), name, token_hash(malformed.attempt.token), std::move(over)},
                   [volunteer, number, name, code = why.code, detail](ReportRecorder::Fate fate,
                                                                      const std::optional<Refusal>&) {
                     const bool ended = fate == ReportRecorder::Fate::recorded;
                     if (fate != ReportRecorder::Fate::stale)
                       volunteer->problem({number, std::string{row_of(code).name}, detail, name});
                     if (fate != ReportRecorder::Fate::refused)
                       volunteer->forget(name, ended ? kUnreportable : "stale_attempt");
                     volunteer->done(number);
                   });
}

void Volunteers::greet(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number,
                       protocol::Hello hello) {
  if (!std::ranges::contains(hello.protocols, protocol::kVersion)) {
    return volunteer->close(CloseCode::unsupported, "this market speaks version 1");
  }
  Greeting greeting{.machine = volunteer->machine(),
                    .token_hash = volunteer->token_hash(),
                    .market = market_,
                    .connection = volunteer->connection(),
                    .lease = lease(),
                    .hello = std::move(hello)};
  const bool queued =
      database_.try_run([this, volunteer, number, greeting = std::move(greeting)](pg::Session& db) {
        try {
          const auto opened = open_machine(db, greeting);
          if (!opened) return volunteer->close(CloseCode::unauthenticated, "the token is no longer valid");
          enter(volunteer, opened->session);
          volunteer->welcome(number, *opened, greeting.hello.taking_jobs, options_.beat, lease());
          // It may have closed before it had a session to be found by.
          if (volunteer->is_gone()) gone(volunteer);
          options_.committed();
        } catch (const std::exception& fault) {
          log::warn("hello_failed", {{"machine", greeting.machine.text()}, {"what", fault.what()}});
          volunteer->close(CloseCode::going_away, "the database is away: connect again");
        }
      });
  if (!queued) volunteer->close(CloseCode::going_away, "this market is busy: connect again");
}

void Volunteers::enter(const std::shared_ptr<Volunteer>& volunteer, SessionId session) {
  std::shared_ptr<Volunteer> before;
  {
    const std::lock_guard lock{mutex_};
    if (stopping_) return volunteer->close(CloseCode::going_away, "this market stops");
    before = std::exchange(by_session_[session], volunteer);
    metrics_.volunteers_connected.Set(static_cast<double>(by_session_.size()));
  }
  if (before && before != volunteer)
    before->close(CloseCode::replaced, "the same machine has connected again");
}

void Volunteers::gone(const std::shared_ptr<Volunteer>& volunteer) {
  volunteer->mark_gone();
  const auto session = volunteer->session();
  if (!session) return;
  const std::lock_guard lock{mutex_};
  const auto found = by_session_.find(*session);
  if (found == by_session_.end() || found->second != volunteer) return;
  by_session_.erase(found);
  metrics_.volunteers_connected.Set(static_cast<double>(by_session_.size()));
}

void Volunteers::report(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number,
                        std::vector<AttemptKey> attempts, std::variant<Accepted, Over> what,
                        std::function<void()> after) {
  if (attempts.empty()) {
    if (after) after();
    return volunteer->done(number);
  }
  const bool accepts = std::holds_alternative<Accepted>(what);
  // Its last report acknowledges the message.
  const auto left = std::make_shared<std::atomic<std::size_t>>(attempts.size());
  for (const auto& key : attempts) {
    auto told = [volunteer, number, left, accepts, after, name = key.name](
                    ReportRecorder::Fate fate, const std::optional<Refusal>& why) {
      if (fate == ReportRecorder::Fate::recorded) {
        if (accepts) {
          volunteer->accepted(name);
        } else {
          volunteer->forget(name);
        }
      } else if (fate == ReportRecorder::Fate::stale) {
        volunteer->forget(name, "stale_attempt");
      } else {
        volunteer->problem({number, std::string{row_of(why->code).name}, why->detail, name});
      }
      if (left->fetch_sub(1) != 1) return;
      if (after) after();
      volunteer->done(number);
    };
    auto said = what;
    if (auto* const over = std::get_if<Over>(&said); over && !over->cpu_ms)
      over->cpu_ms = volunteer->cpu_ms(key.name);
    recorder_.record({volunteer->machine(), key.name, token_hash(key.token), std::move(said)},
                     std::move(told));
  }
}

void Volunteers::record(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number,
                        protocol::Partials partials) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  PartialReport report{.machine = volunteer->machine(),
                       .attempt = partials.attempt.name,
                       .token_hash = token_hash(partials.attempt.token),
                       .records = std::move(partials.records),
                       .said_at_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count()};
  partial_recorder_.record(
      std::move(report), [volunteer, number, name = partials.attempt.name](const PartialFate& fate) {
        if (!fate && fate.refusal().code == Code::stale_attempt) {
          volunteer->forget(name, "stale_attempt");
        } else if (!fate) {
          const auto& why = fate.refusal();
          volunteer->problem({number, std::string{row_of(why.code).name}, why.detail, name});
        }
        volunteer->done(number);
      });
}

void Volunteers::part(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number,
                      protocol::Goodbye goodbye) {
  volunteer->leave();
  const auto session = *volunteer->session();
  // What fails here the lease makes up for, a little later.
  const auto run = [this](auto work, auto then) {
    const bool queued = database_.try_run([work, then](pg::Session& db) {
      try {
        work(db);
      } catch (const std::exception& fault) {
        log::warn("goodbye_failed", {{"what", fault.what()}});
      }
      then();
    });
    if (!queued) then();
  };
  // One after the other: no more jobs, what it had is given back, and then it is gone.
  const auto end = [run, session] {
    run([session](pg::Session& db) { end_idle_machine(db, session); }, [] {});
  };
  run([volunteer, session](pg::Session& db) { close_machine(db, session, volunteer->connection()); },
      [this, volunteer, number, goodbye = std::move(goodbye), end] {
        report(volunteer, number, goodbye.attempts,
               Over{.outcome = store::AttemptOutcome::handed_back, .leaving = true}, end);
      });
}

void Volunteers::lose(const std::shared_ptr<Volunteer>& volunteer, const AttemptName& attempt) {
  log::info("attempt_unnamed", {{"machine", volunteer->machine().text()}, {"job", attempt.job.text()}});
  recorder_.record({volunteer->machine(), attempt, std::nullopt, Over{store::AttemptOutcome::lost}},
                   [volunteer, attempt](ReportRecorder::Fate, const std::optional<Refusal>&) {
                     volunteer->forget(attempt, "stale_attempt");
                   });
}

void Volunteers::renew(const std::shared_ptr<Volunteer>& volunteer, std::int64_t number) {
  const bool queued = database_.try_run([this, volunteer, number](pg::Session& db) {
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

std::shared_ptr<Volunteer> Volunteers::find(SessionId session) const {
  const std::lock_guard lock{mutex_};
  const auto found = by_session_.find(session);
  return found == by_session_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<Volunteer>> Volunteers::all() const {
  const std::lock_guard lock{mutex_};
  const auto values = std::views::values(by_session_);
  return {values.begin(), values.end()};
}

void Volunteers::deliver(std::string_view body) {
  const auto message = json_in(body);
  if (message.contains("assign")) {
    for (const auto& item : message.at("assign")) {
      const auto volunteer = find(session_of(item));
      // It has left. Whoever it says hello to finds the assignment in the database.
      if (!volunteer) continue;
      volunteer->assign(assignment_of(item.at("job")));
      metrics_.attempts_assigned.Increment();
    }
  }
  if (message.contains("close")) {
    const auto reason = message.at("reason").get<std::string>();
    for (const auto& id : message.at("close")) {
      const auto volunteer = find(SessionId::parse(id.get<std::string>()).value());
      if (volunteer) volunteer->close(CloseCode::unauthenticated, reason.substr(0, kReasonBytes));
    }
  }
  if (message.contains("stop")) {
    const auto reason = message.at("reason").get<std::string>();
    for (const auto& item : message.at("stop")) {
      if (const auto volunteer = find(session_of(item))) volunteer->forget(name_of(item), reason);
    }
  }
}

void Volunteers::write_down(pg::Session& db) {
  struct Entry {
    std::shared_ptr<Volunteer> volunteer;
    Volunteer::Heard heard;
  };
  std::map<SessionId, Entry> entries;
  std::vector<SeenSession> seen;
  std::vector<RunningAttempt> running;
  std::vector<ProgressNote> progress;
  const auto now = Volunteer::Clock::now();
  for (const auto& volunteer : all()) {
    if (volunteer->is_silent(lease(), now)) {
      volunteer->close(CloseCode::session_ended, "nothing was heard for a lease");
    } else if (volunteer->is_deaf(lease(), now)) {
      volunteer->close(CloseCode::too_much, "nothing was acknowledged for a lease");
    }
    for (const auto& attempt : volunteer->take_unnamed(lease(), now)) lose(volunteer, attempt);
    auto heard = volunteer->heard();
    if (!heard) continue;
    seen.push_back(heard->seen);
    running.insert(running.end(), heard->running.begin(), heard->running.end());
    progress.insert(progress.end(), heard->progress.begin(), heard->progress.end());
    const auto session = heard->seen.session;
    entries.emplace(session, Entry{volunteer, *std::move(heard)});
  }
  if (seen.empty()) return;
  auto still = note_seen(db, seen);
  std::ranges::sort(still);
  options_.committed();
  for (const auto& [session, entry] : entries) {
    if (std::ranges::binary_search(still, session)) {
      entry.volunteer->beats_recorded(entry.heard.beats);
    } else {
      entry.volunteer->close(CloseCode::session_ended, "the session is over: connect again and say hello");
    }
  }
  for (const auto& stale : note_running(db, running)) {
    entries.at(stale.session).volunteer->forget(stale.attempt, "stale_attempt");
  }
  note_progress(db, progress);
  for (const auto& [session, entry] : entries) entry.volunteer->progress_recorded(entry.heard.progress);
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
