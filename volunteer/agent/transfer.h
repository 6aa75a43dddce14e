// Transfers between a job's folder and the market over REST: code and data in, results out. Blocking; run
// with BackgroundCalls.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/protocol.h"
#include "volunteer/agent/attempts.h"
#include "volunteer/agent/chunk_cache.h"
#include "volunteer/agent/market_requests.h"
#include "volunteer/connection/rest.h"
#include "volunteer/sandbox/guest.h"

namespace remotist::volunteer {

// Writes the job's files into `work` of the guest's folder, which make_folder() makes; files of an earlier
// try are replaced. Every chunk is checked against its name. Sends no request when the assignment contains
// the files. Faults: limit_disc when the files are larger than the job's disc; invalid_files when their paths
// conflict.
TransferFault fetch_job(Rest& rest, ChunkCache& cache, const AttemptCredentials& credentials,
                        const protocol::Assignment& assignment,
                        const std::function<const GuestSpec&()>& make_folder);

struct Delivery {
  TransferFault fault;
  std::vector<protocol::OutcomeFile> small;  // to be sent in the outcome message
};
// Uploads the guest's result, log, error and the files it made. Chunks that the market has already are not
// uploaded again, so that a delivery that was interrupted continues. Fault lost_writes, whatever else failed,
// when the guest's disc lost data.
Delivery deliver_job(Rest& rest, const AttemptCredentials& credentials, const Verdict& verdict,
                     const GuestSpec& guest);

struct Uploaded {
  TransferFault fault;
  std::vector<std::string> chunks;
  std::int64_t size = 0;
};
// Uploads a watched variable's value from `file` in the guest's out folder, then deletes the file.
Uploaded upload_value(Rest& rest, const AttemptCredentials& credentials, const std::filesystem::path& folder,
                      const std::string& file);
// Deletes such a file without uploading it.
void discard_value(const std::filesystem::path& folder, const std::string& file);

// Uploads the end of the log of a running job, so that its owner can read it.
TransferFault send_log(Rest& rest, const AttemptCredentials& credentials, std::string_view text);

}  // namespace remotist::volunteer
