// The part of Agent that does the work of attempts: folders, guests and transfers.
#include <algorithm>
#include <functional>
#include <utility>

#include "core/log.h"
#include "volunteer/agent/agent.h"
#include "volunteer/agent/checkpoint_transfer.h"
#include "volunteer/agent/transfer.h"

namespace remotist::volunteer {

using protocol::AttemptKey;
using protocol::AttemptName;

const std::string& Agent::guest_of(const AttemptName& attempt) {
  auto& name = guests_[attempt];
  if (name.empty()) {
    name = attempt.job.text() + "-" + std::to_string(attempt.number) + "-" + std::to_string(++guests_named_);
    local_attempts_.emplace(
        name,
        LocalAttempt{.attempt = attempt, .guest = std::make_shared<GuestSpec>(GuestSpec{.name = name})});
  }
  return name;
}

bool Agent::has_room(std::size_t attempts) {
  return takes_jobs() && attempts < attempts_max(machine_);
}

void Agent::fetch(const protocol::Assignment& assignment, const std::vector<SkippedCheckpoint>& skipped) {
  const auto& attempt = assignment.attempt.name;
  // The folder of a run that did not resume is of no use for another one.
  if (const auto* const earlier = local_of(attempt); earlier != nullptr && earlier->has_run)
    forget_guest(std::string{guests_.at(attempt)});
  const auto& name = guest_of(attempt);
  start_transfer(
      transfers_, name,
      [this, assignment, skipped, software = software_, token = session_.token(),
       guest = local_attempts_.at(name).guest](Rest& rest) -> FetchedCheckpoint {
        guest->exec_file = assignment.exec_file;
        guest->limits.cpu_cores = assignment.cpu_cores;
        guest->limits.cpu_ms_max = assignment.cpu_ms_max;
        guest->limits.ram_mb = assignment.ram_mb;
        guest->limits.disc_mb = assignment.disc_mb;
        guest->watched_variables = assignment.watched_variables;
        guest->resumable = assignment.resumable;
        guest->resume_from.reset();
        const AttemptCredentials credentials{token, assignment.attempt};
        if (auto fault = fetch_job(rest, cache_, credentials, assignment, [&]() -> const GuestSpec& {
              sandbox_.make_folder(*guest);
              return *guest;
            }))
          return {.fault = std::move(fault), .report = {}};
        if (!assignment.resume || !assignment.resumable) return {.fault = {}, .report = {0, skipped}};
        auto fetched = fetch_checkpoint(rest, credentials, software, *guest, skipped);
        guest->resume_from = fetched.from;
        if (auto& most = guest->limits.cpu_ms_max; most && fetched.cpu_ms_max)
          most = std::min(*most, std::max<std::int64_t>(*fetched.cpu_ms_max, 1));
        return fetched;
      },
      [this](const LocalAttempt& local, FetchedCheckpoint fetched) {
        attempts_.on_fetched(local.attempt, fetched.fault, Clock::now(), std::move(fetched.report));
      });
}

void Agent::run(const protocol::Assignment& assignment) {
  const auto& name = guest_of(assignment.attempt.name);
  auto& local = local_attempts_.at(name);
  local.running = local.has_run = true;
  sandbox_.start(*local.guest);
}

void Agent::deliver(const AttemptKey& attempt, const Verdict& verdict) {
  const auto& name = guest_of(attempt.name);
  start_transfer(
      transfers_, name,
      [attempt, verdict, token = session_.token(), guest = local_attempts_.at(name).guest](Rest& rest) {
        return deliver_job(rest, {token, attempt}, verdict, *guest);
      },
      [this](const LocalAttempt& local, Delivery delivery) {
        attempts_.on_delivered(local.attempt, delivery.fault, std::move(delivery.small), Clock::now());
      });
}

void Agent::upload(const AttemptKey& attempt, const LargeValue& value) {
  const auto& name = guest_of(attempt.name);
  start_transfer(
      transfers_, name,
      [attempt, file = value.file, token = session_.token(), folder = local_attempts_.at(name).guest->folder](
          Rest& rest) { return upload_value(rest, {token, attempt}, folder, file); },
      [this, value](const LocalAttempt& local, Uploaded uploaded) {
        attempts_.on_uploaded(local.attempt, value, uploaded.fault, std::move(uploaded.chunks), uploaded.size,
                              Clock::now());
      });
}

void Agent::discard(const AttemptName& attempt, const std::string& file) {
  const auto& name = guest_of(attempt);
  start_transfer(
      transfers_, name,
      [file, folder = local_attempts_.at(name).guest->folder](Rest&) {
        discard_value(folder, file);
        return 0;
      },
      [](const LocalAttempt&, int) {});
}

void Agent::set_frozen(const AttemptName& attempt, bool frozen) {
  const auto entry = guests_.find(attempt);
  if (entry == guests_.end()) return;
  local_attempts_.at(entry->second).frozen = frozen;
  sandbox_.set_frozen(entry->second, frozen);
}

void Agent::freeze_again() {
  for (const auto& [name, local] : local_attempts_)
    if (local.frozen && local.running) sandbox_.set_frozen(name, true);
}

void Agent::stop_run(const AttemptName& attempt) {
  const auto entry = guests_.find(attempt);
  if (entry != guests_.end() && local_attempts_.at(entry->second).running) sandbox_.stop(entry->second);
}

void Agent::drop(const AttemptName& attempt) {
  const auto entry = guests_.find(attempt);
  if (entry == guests_.end()) return;
  ++jobs_ended_;
  const auto name = entry->second;
  guests_.erase(entry);
  forget_guest(name);
}

void Agent::forget_guest(const std::string& name) {
  auto& local = local_attempts_.at(name);
  std::erase_if(guests_, [&](const auto& entry) { return entry.second == name; });
  local.dropped = true;
  cancel_uploads(local);
  if (local.running) sandbox_.stop(name);
  delete_if_unused(name);
}

void Agent::delete_if_unused(const std::string& name) {
  auto& local = local_attempts_.at(name);
  if (local.running || local.transfers > 0) return;
  // On that thread, because deleting the folder and unmounting its disc take time.
  transfers_.start([guest = std::move(local.guest)](std::size_t) mutable -> BackgroundCalls::Completion {
    try {
      if (!guest->folder.empty()) remove_folder(guest->folder);
    } catch (const std::exception& fault) {
      log::warn("folder_not_deleted", {{"folder", guest->folder.string()}, {"why", fault.what()}});
    }
    guest.reset();
    return [] {};
  });
  local_attempts_.erase(name);
}

std::int64_t Agent::cpu_ms(const AttemptName& attempt) const {
  const auto entry = guests_.find(attempt);
  return entry == guests_.end() ? 0 : sandbox_.cpu_ms(entry->second).value_or(0);
}

}  // namespace remotist::volunteer
