#include "market/service/record_beats.h"

#include <map>
#include <set>
#include <utility>

#include "core/store/attempts.h"
#include "market/store/machine_sessions.h"

namespace remotist::market {
namespace {

using websocket::CloseCode;

struct Beats {
  struct Entry {
    std::shared_ptr<Volunteer> volunteer;
    Volunteer::Unrecorded unrecorded;
  };
  std::map<MachineSessionId, Entry> entries;
  std::vector<SeenMachineSession> seen;
  std::vector<RunningAttempt> running;
  std::vector<AttemptProgress> progress;
};

Beats unrecorded_of(const std::vector<std::shared_ptr<Volunteer>>& volunteers) {
  Beats beats;
  for (const auto& volunteer : volunteers) {
    auto unrecorded = volunteer->unrecorded();
    if (!unrecorded) continue;
    const auto& [count, seen, running, progress] = *unrecorded;
    beats.seen.push_back(seen);
    beats.running.insert(beats.running.end(), running.begin(), running.end());
    beats.progress.insert(beats.progress.end(), progress.begin(), progress.end());
    const auto session = seen.machine_session;
    beats.entries.emplace(session, Beats::Entry{volunteer, *std::move(unrecorded)});
  }
  return beats;
}

// Returns the sessions that go on.
std::set<MachineSessionId> record_sessions(pg::Connection& db, const Beats& beats) {
  return db.transact([&] {
    std::set<MachineSessionId> open;
    std::vector<MachineSessionId> offers;
    for (const auto& renewed : renew_leases(db, beats.seen)) {
      open.insert(renewed.machine_session);
      if (renewed.offers) offers.push_back(renewed.machine_session);
    }
    store::offer_sessions(db, offers);
    return open;
  });
}

void tell_volunteers(const Beats& beats, const std::set<MachineSessionId>& open) {
  for (const auto& [session, entry] : beats.entries) {
    if (open.contains(session)) {
      entry.volunteer->beats_recorded(entry.unrecorded.beats);
    } else {
      entry.volunteer->close(CloseCode::session_ended,
                             "the machine session is over: connect again and say hello");
    }
  }
}

void record_attempts(pg::Connection& db, const Beats& beats) {
  for (const auto& stale : record_running(db, beats.running))
    beats.entries.at(stale.machine_session).volunteer->forget(stale.attempt, "stale_attempt");
}

void record_all_progress(pg::Connection& db, const Beats& beats) {
  record_progress(db, beats.progress);
  for (const auto& [session, entry] : beats.entries)
    entry.volunteer->progress_recorded(entry.unrecorded.progress);
}

}  // namespace

void record_beats(pg::Connection& db, const std::vector<std::shared_ptr<Volunteer>>& volunteers,
                  const std::function<void()>& committed) {
  const Beats beats = unrecorded_of(volunteers);
  if (beats.seen.empty()) return;
  const auto open = record_sessions(db, beats);
  committed();
  tell_volunteers(beats, open);
  record_attempts(db, beats);
  record_all_progress(db, beats);
}

}  // namespace remotist::market
