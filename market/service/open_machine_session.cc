#include "market/service/open_machine_session.h"

#include <map>
#include <string>
#include <utility>

#include "core/store/attempts.h"
#include "core/token.h"

namespace remotist::market {
namespace {

void reconcile(pg::Connection& db, const MachineHello& hello, OpenedMachineSession& opened) {
  std::map<protocol::AttemptName, std::string> held;
  for (const auto& attempt : hello.message.attempts) held[attempt.name] = token_hash(attempt.token);
  for (auto& [assignment, hash, accepted, leaving] : open_attempts(db, opened.machine_session)) {
    const auto mine = held.find(assignment.attempt.name);
    if (mine != held.end() && mine->second == hash) {
      opened.keep.push_back(mine->first);
      if (leaving) opened.leaving.push_back(mine->first);
      held.erase(mine);
    } else if (accepted) {
      opened.lost.push_back(assignment.attempt.name);
    } else {
      assignment.loss_ms_mean = hello.loss_mean.count();
      assignment.attempt.token = fresh_token("attempt");
      opened.assign.push_back(std::move(assignment));
    }
  }
  for (const auto& [name, hash] : held) opened.stop.push_back(name);
  set_tokens(db, opened.assign);
}

}  // namespace

std::optional<OpenedMachineSession> open_machine_session(pg::Connection& db, const MachineHello& hello) {
  return db.transact([&]() -> std::optional<OpenedMachineSession> {
    if (machine_of_token(db, hello.token_hash) != hello.machine) return std::nullopt;
    const auto session = resume_or_begin_session(db, hello);
    if (!session) throw pg::Conflict{"two machine sessions of one machine began at once"};
    OpenedMachineSession opened{
        .machine_session = *session, .keep = {}, .stop = {}, .assign = {}, .lost = {}, .leaving = {}};
    set_software(db, hello.machine, hello.message);
    end_older_tokens(db, hello.machine, hello.token_hash);
    // After the session's row is locked, so that no worker is making an assignment to it.
    reconcile(db, hello, opened);
    if (hello.message.taking_jobs) store::offer_sessions(db, {*session});
    return opened;
  });
}

}  // namespace remotist::market
