// Handles expired leases, acceptance times and deadlines, by the database's clock. Each function is one
// transaction, handles a bounded number and returns it; rows locked by others are left for the next call.
#pragma once

#include <chrono>
#include <cstddef>

#include "core/pg/connection.h"

namespace remotist::worker {

// The longest lease of all open machine sessions.
std::chrono::milliseconds longest_lease(pg::Connection& db);

// Ends machine sessions whose lease has expired: requeues their jobs, or fails those that were lost too
// often.
std::size_t reap_sessions(pg::Connection& db);
// Requeues jobs whose assignment was not accepted in time although their machine has sent beats since.
std::size_t reap_unaccepted(pg::Connection& db, std::chrono::milliseconds accept_time);
// Ends attempts that should have handed their jobs over by now, as handed_back, and requeues the jobs, which
// is not counted: the last checkpoints count.
std::size_t reap_leaving(pg::Connection& db);
// Ends evicted machine sessions and requeues their jobs, which is not counted as a loss.
std::size_t end_evicted_sessions(pg::Connection& db);
// Cancels the jobs of disabled accounts; machines are paid for the work done.
std::size_t cancel_jobs_of_disabled(pg::Connection& db);
// Expires jobs whose deadline has passed; their machines are sent a stop, and paid when they have reported.
std::size_t expire_jobs(pg::Connection& db);
// Settles stopped jobs whose machines have not reported for a lease: pays the CPU time of their last beat.
std::size_t settle_unanswered(pg::Connection& db);
// Deletes jobs that were never submitted and have had no new file for limits::kUploadingSecondsMax.
std::size_t remove_abandoned(pg::Connection& db);
// Releases chunks that ended attempts had uploaded and no file or value refers to, and the checkpoints of
// jobs that have ended; their owners' storage is credited.
std::size_t empty_released_storages(pg::Connection& db);

}  // namespace remotist::worker
