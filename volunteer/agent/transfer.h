// What goes between a job's folder and the market over REST: code and data in, results out. Blocking, for an
// errand's thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/protocol.h"
#include "volunteer/agent/chunk_cache.h"
#include "volunteer/agent/jobs.h"
#include "volunteer/connection/rest.h"
#include "volunteer/sandbox/guest.h"

namespace remotist::volunteer {

// For whom a request speaks.
struct Proof {
  std::string machine_token;
  protocol::AttemptKey attempt;

  std::vector<std::string> headers() const;
};

// Puts the job's files into `work` of the guest whose folder make_folder() makes; what an earlier try left
// there is replaced. Every chunk is checked by its name. Nothing is asked of the market when the assignment
// brought the files along. A job whose files are larger than the disc it asked for is a fault limit_disc,
// one whose files cannot stand in one folder a fault invalid_files.
TransferFault fetch_job(Rest& rest, ChunkCache& cache, const Proof& proof,
                        const protocol::Assignment& assignment,
                        const std::function<const GuestSpec&()>& make_folder);

struct Delivery {
  TransferFault fault;
  std::vector<protocol::OutcomeFile> small;  // to come with the outcome
};
// Sends what the guest has left: result, log, error and the files it made; chunks that the market has already
// are not sent again, so that a delivery that was cut off goes on where it stopped. A guest whose disc lost
// what was written to it is a fault lost_writes, whatever else went wrong.
Delivery deliver_job(Rest& rest, const Proof& proof, const Verdict& verdict, const GuestSpec& guest);

struct Uploaded {
  TransferFault fault;
  std::vector<std::string> chunks;
  std::int64_t size = 0;
};
// Sends a watched variable's value that a guest has put into `file` of its out folder, and deletes the file
// once it is sent.
Uploaded send_value(Rest& rest, const Proof& proof, const std::filesystem::path& folder,
                    const std::string& file);
// Deletes such a file.
void discard_value(const std::filesystem::path& folder, const std::string& file);

// Stores the end of the log of a job that still runs, so that its owner can read it meanwhile.
TransferFault send_log(Rest& rest, const Proof& proof, std::string_view text);

}  // namespace remotist::volunteer
