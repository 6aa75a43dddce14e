#include "worker/consumer/dispatcher.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "core/amqp/queues.h"
#include "core/log.h"
#include "core/store/attempts.h"

namespace remotist::worker {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kSessionsMax = 128;     // in a round
constexpr std::size_t kJobsMax = 500;         // in a round
constexpr std::size_t kAccountsMax = 64;      // served in a round
constexpr std::size_t kAssignmentsMax = 500;  // in a message: far from its limit of 1 MiB
constexpr std::size_t kReservationsMax = 4;   // made at a time
constexpr auto kPublishTime = 5s;
constexpr auto kClaimTime = 30s;

AccountId no_account() {
  return AccountId::parse("00000000-0000-0000-0000-000000000000").value();
}

// The assignments of each market, in messages of at most kAssignmentsMax.
std::vector<store::OutboxDraft> drafts_of(const std::vector<BegunAttempt>& begun) {
  std::map<MarketId, std::vector<queue::SessionAttempt>> of_market;
  for (const auto& attempt : begun) of_market[attempt.market].push_back(attempt.attempt);
  std::vector<store::OutboxDraft> drafts;
  for (const auto& [market, attempts] : of_market) {
    for (const auto& some : attempts | std::views::chunk(kAssignmentsMax)) {
      drafts.push_back(
          {amqp::market_queue(market.text()), queue::text_of(queue::Assign{{some.begin(), some.end()}})});
    }
  }
  return drafts;
}

void log_assigned(const std::vector<BegunAttempt>& begun) {
  if (!log::writes(log::Level::info)) return;
  for (const auto& [market, attempt, request_id] : begun) {
    log::info("job_assigned", {{"job", attempt.name.job.text()},
                               {"attempt", attempt.name.number},
                               {"machine_session", attempt.machine_session.text()},
                               {"market", market.text()},
                               {"request", request_id ? request_id->text() : ""}});
  }
}

std::vector<JobId> promised_on(const std::vector<Machine>& machines) {
  std::vector<JobId> jobs;
  for (const auto& machine : machines) {
    if (machine.reserved_for) jobs.push_back(*machine.reserved_for);
  }
  return jobs;
}

std::size_t free_cores(const std::vector<Machine>& machines) {
  std::int64_t cores = 0;
  for (const auto& machine : machines) cores += machine.free.cpu_cores;
  return static_cast<std::size_t>(cores);
}

}  // namespace

void read_hint(std::string_view body, queue::Ready& into) {
  const auto ready = queue::read_ready(body);
  if (!ready) return log::warn("hint_unreadable", {{"what", ready.refusal().detail}});
  into.jobs.insert(into.jobs.end(), ready->jobs.begin(), ready->jobs.end());
  into.machine_sessions.insert(into.machine_sessions.end(), ready->machine_sessions.begin(),
                               ready->machine_sessions.end());
}

Dispatcher::Dispatcher(const std::string& database_url, const std::string& amqp_url,
                       std::chrono::seconds reserve_after)
    : db_(database_url, {.durable = false, .by_index = true}),
      publisher_(amqp::Address::of(amqp_url), {}, {}),
      reserve_after_(reserve_after),
      turn_(AccountId::make()) {}

void Dispatcher::dispatch(const queue::Ready& hints) {
  const std::lock_guard lock{mutex_};
  std::set<MachineSessionId> sessions{hints.machine_sessions.begin(), hints.machine_sessions.end()};
  for (const MachineSessionId session : sessions_for(db_, hints.jobs)) sessions.insert(session);
  std::vector<MachineSessionId> some;
  for (const MachineSessionId session : sessions) {
    some.push_back(session);
    if (some.size() < kSessionsMax) continue;
    fill(some);
    some.clear();
  }
  if (!some.empty()) fill(some);
}

void Dispatcher::scan() {
  const std::lock_guard lock{mutex_};
  publisher_.idle(amqp::Clock::now() + 1ms);
  if (const auto sessions = offering_sessions(db_, kSessionsMax); !sessions.empty()) fill(sessions);
  for (const auto& job : overdue_jobs(db_, next_accounts(kAccountsMax), reserve_after_, kReservationsMax)) {
    publish(db_.transact([&] { return reserve(job); }));
  }
}

void Dispatcher::fill(const std::vector<MachineSessionId>& sessions) {
  for (bool more = true; more;) {
    auto done = db_.transact([&] { return round(sessions); });
    publish(done);
    more = done.more;
  }
}

// Accounts are served round-robin.
std::vector<AccountId> Dispatcher::next_accounts(std::size_t at_most) {
  auto accounts = accounts_after(db_, turn_, at_most);
  if (accounts.size() < at_most) {
    for (const AccountId account : accounts_after(db_, no_account(), at_most - accounts.size())) {
      if (!std::ranges::contains(accounts, account)) accounts.push_back(account);
    }
  }
  return accounts;
}

Dispatcher::Round Dispatcher::round(const std::vector<MachineSessionId>& sessions) {
  Round done;
  Snapshot snapshot{.machines = lock_offering_sessions(db_, sessions, IfLocked::skip), .jobs = {}};
  // Other transactions hold all of them, and no later message may name them: wait.
  if (snapshot.machines.empty()) snapshot.machines = lock_offering_sessions(db_, sessions, IfLocked::wait);
  if (snapshot.machines.empty()) return done;

  snapshot.jobs = lock_named_jobs(db_, promised_on(snapshot.machines), snapshot.machines);
  const std::size_t wanted = std::min(kJobsMax, free_cores(snapshot.machines));
  const auto accounts = next_accounts(std::min(wanted, kAccountsMax));
  if (!accounts.empty()) {
    const std::size_t of_each = (wanted + accounts.size() - 1) / accounts.size();
    for (auto& job : lock_best_jobs(db_, accounts, of_each, snapshot.machines))
      snapshot.jobs.push_back(std::move(job));
    turn_ = accounts.back();
  }
  apply_plan(snapshot, done);
  // Another round while there is free capacity and this one assigned something.
  done.more = !done.begun.empty() && done.begun.size() < free_cores(snapshot.machines);
  return done;
}

Dispatcher::Round Dispatcher::reserve(const OverdueJob& overdue) {
  Round done;
  Snapshot snapshot{.machines = lock_all_sessions(db_, overdue.sessions), .jobs = {}};
  auto named = promised_on(snapshot.machines);
  named.push_back(overdue.job);
  snapshot.jobs = lock_named_jobs(db_, named, snapshot.machines);
  for (auto& job : snapshot.jobs) job.overdue = job.id == overdue.job;
  apply_plan(snapshot, done);
  return done;
}

void Dispatcher::apply_plan(const Snapshot& snapshot, Round& round) {
  const Plan plan = match(snapshot);
  // Release reservations of jobs that no longer wait, were assigned elsewhere, or may not use the machine.
  std::map<JobId, const WaitingJob*> waiting;
  for (const auto& job : snapshot.jobs) waiting[job.id] = &job;
  for (const auto& pair : plan.assignments) waiting.erase(snapshot.jobs[pair.job].id);
  std::vector<MachineSessionId> released;
  for (const auto& machine : snapshot.machines) {
    if (!machine.reserved_for) continue;
    const auto job = waiting.find(*machine.reserved_for);
    if (job == waiting.end() || std::ranges::contains(job->second->excluded, machine.machine)) {
      released.push_back(machine.machine_session);
    }
  }
  release_reservations(db_, released);
  round.begun = apply(db_, snapshot, plan);
  round.messages = store::put_outbox_claimed(db_, drafts_of(round.begun), kClaimTime);
  for (const auto& pair : plan.reservations) {
    log::info("machine_reserved", {{"job", snapshot.jobs[pair.job].id.text()},
                                   {"machine", snapshot.machines[pair.machine].machine.text()}});
  }
}

void Dispatcher::publish(const Round& round) {
  log_assigned(round.begun);
  const auto& rows = round.messages.messages;
  if (rows.empty()) return;
  std::vector<amqp::Message> messages;
  for (const auto& row : rows) {
    messages.push_back({.routing_key = row.routing_key,
                        .body = row.body,
                        .message_id = row.message_id,
                        .persistent = false,  // the queue itself does not outlive the broker
                        .mandatory = true});
  }
  const auto results = publisher_.publish(messages, amqp::Clock::now() + kPublishTime);
  std::vector<std::int64_t> done;
  std::set<std::string> gone;
  for (std::size_t i = 0; i < results.size(); ++i) {
    // Unanswered messages stay in the outbox: a market publishes them when the claim has expired.
    if (results[i] == amqp::PublishResult::confirmed || results[i] == amqp::PublishResult::returned)
      done.push_back(rows[i].id);
    if (results[i] == amqp::PublishResult::returned) gone.insert(rows[i].routing_key);
  }
  store::delete_outbox(db_, round.messages, done);
  for (const auto& queue : gone) {
    release(round.begun,
            MarketId::parse(queue.substr(std::string_view{amqp::kMarketQueuePrefix}.size())).value());
  }
}

// The market has stopped, so its machines cannot be told: requeue the jobs.
void Dispatcher::release(const std::vector<BegunAttempt>& begun, MarketId market) {
  std::vector<store::AttemptEnd> ends;
  std::vector<JobId> jobs;
  for (const auto& attempt : begun) {
    if (attempt.market != market) continue;
    const auto& name = attempt.attempt.name;
    ends.push_back({name.job, name.number, AttemptOutcome::refused});
    jobs.push_back(name.job);
  }
  log::info("market_gone", {{"market", market.text()}, {"attempts", ends.size()}});
  db_.transact([&] {
    store::lock_jobs(db_, jobs);
    jobs.clear();
    store::lock_machine_sessions(db_, ends);
    for (const auto& ended : store::end_attempts(db_, ends)) jobs.push_back(ended.job);
    store::end_jobs(db_, store::requeue_jobs(db_, jobs, AttemptOutcome::refused));
  });
}

}  // namespace remotist::worker
