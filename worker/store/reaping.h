// Leases, acceptances and deadlines that have run out, by the database's clock. Each function is a
// transaction of its own, deals with a bounded number, and says how many; rows that others hold are left for
// the next time.
#pragma once

#include <chrono>
#include <cstddef>

#include "core/pg/session.h"

namespace remotist::worker {

// Of all sessions that go on.
std::chrono::milliseconds longest_lease(pg::Session& db);

// Machines that were not heard from for their lease: what they had waits again, or fails if it was lost too
// often.
std::size_t reap_sessions(pg::Session& db);
// Assignments that were not accepted although their machines were heard from since: they go elsewhere.
std::size_t reap_unaccepted(pg::Session& db, std::chrono::milliseconds accept_time);
// Sessions of machines that were banned, removed by an admin, or whose owner was disabled: what they had
// waits again, and that is no loss of the job's.
std::size_t end_barred_sessions(pg::Session& db);
// Jobs of accounts that were disabled: cancelled, and what a machine has done is paid.
std::size_t cancel_jobs_of_disabled(pg::Session& db);
// Jobs whose deadline has passed: their machines are told to stop, and paid when they have.
std::size_t expire_jobs(pg::Session& db);
// Jobs that were stopped, and whose machines have not said for a lease what they measured: they are paid for
// what their last beats said.
std::size_t settle_unanswered(pg::Session& db);
// Jobs that were never submitted and have had no new file for limits::kUploadingSecondsMax.
std::size_t remove_abandoned(pg::Session& db);
// Chunks that attempts uploaded and had not named when they ended: their owners get the room back.
std::size_t empty_released_storages(pg::Session& db);

}  // namespace remotist::worker
