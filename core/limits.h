// All limits of the market, explained in docs/limits.md. Each is tested at the limit and one past it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace remotist::limits {

// HTTP
inline constexpr std::size_t kBodyBytesMax = (1 << 20) + (64 << 10);  // one chunk of 1 MiB and its envelope
inline constexpr std::size_t kJsonBytesMax = 256 << 10;               // a JSON request body
inline constexpr int kJsonDepthMax = 16;
inline constexpr std::size_t kConnectionsMax = 15'000;  // this and the next two: unless configured otherwise
inline constexpr std::size_t kConnectionsPerAddressMax = 10'000;
inline constexpr std::size_t kIdleConnectionSecondsMax = 60;
inline constexpr std::size_t kPipelinedRequestsMax = 32;       // of one connection, not yet answered
inline constexpr std::size_t kHeldRequestsMax = 4096;          // waiting for an event, in one market
inline constexpr std::size_t kHeldRequestsPerAccountMax = 16;  // in one market, then the oldest ends
inline constexpr std::int64_t kHeldSecondsMax = 25;
inline constexpr int kPageRowsDefault = 50;
inline constexpr int kPageRowsMax = 200;
inline constexpr int kPageNumberMax = 10'000;
inline constexpr std::size_t kPageBytesMax = 1 << 20;      // of a page's rows; one row may be larger
inline constexpr std::int64_t kUnreadMbMax = 256;          // of large answers, unless configured otherwise
inline constexpr std::int64_t kUnreadAddressShare = 8;     // one address may have this part of them
inline constexpr std::size_t kSmallAnswerBytesMax = 8192;  // up to here an answer is not a large one

// Accounts
inline constexpr std::size_t kEmailBytesMax = 254;
inline constexpr std::size_t kPasswordBytesMin = 8;
inline constexpr std::size_t kPasswordBytesMax = 1024;
inline constexpr std::size_t kPasswordQueueMax = 64;              // logins waiting to be hashed, then 429
inline constexpr std::size_t kPasswordsPerAddressMax = 8;         // of one address, hashed or waiting
inline constexpr std::int64_t kLoginFailureSeconds = 15 * 60;     // how long a failed login counts
inline constexpr std::int64_t kLoginFailuresMax = 10;             // for one e-mail from one address
inline constexpr std::int64_t kLoginFailuresPerEmailMax = 1000;   // from anywhere: many machines, one victim
inline constexpr std::int64_t kLoginFailuresPerAddressMax = 200;  // for any e-mail: one machine, many victims
inline constexpr std::int64_t kLoginsPerAccountMax = 1000;        // valid tokens; a new one ends the oldest
inline constexpr std::int64_t kLoginOriginDays = 30;       // an address from which an account has logged in
inline constexpr std::int64_t kRegistrationHoursADay = 2;  // a day's registrations: those of so many hours
inline constexpr std::int64_t kRowsDeletedMax = 10'000;    // by one statement that deletes old rows

// Jobs
inline constexpr std::size_t kJobNameBytesMax = 200;
inline constexpr std::size_t kPathBytesMax = 255;
inline constexpr std::size_t kInlineCodeBytesMax = 128 << 10;
inline constexpr std::size_t kWatchedVariablesMax = 64;
inline constexpr std::size_t kVariableNameBytesMax = 200;
inline constexpr std::int64_t kCpuCoresMax = 256;
inline constexpr std::int64_t kRamMbMin = 64;
inline constexpr std::int64_t kRamMbMax = 4 << 20;
inline constexpr std::int64_t kDiscMbMin = 1;
inline constexpr std::int64_t kDiscMbMax = 16 << 20;
inline constexpr std::int64_t kDeadlineDaysMax = 366;
inline constexpr std::size_t kIdempotencyKeyBytesMax = 100;
inline constexpr std::int64_t kJobsPerAccountMax = 100'000;  // this and the next two: unless configured
inline constexpr std::int64_t kUploadingJobsPerAccountMax = 1'000;  // not submitted yet
inline constexpr std::int64_t kSubmissionsPerAccountHourMax = 50'000;
inline constexpr std::int64_t kUploadingSecondsMax = 7 * 86'400;  // without a new file, then it is removed

inline constexpr std::size_t kJobFilesMax = 10'000;         // of a job, in all roles
inline constexpr std::size_t kJobChunksMax = 1 << 16;       // of all its files: 64 GiB
inline constexpr std::size_t kJobInlineBytesMax = 1 << 20;  // of its files that came inline

// Watched variables on the machine: the runner keeps to these limits, and the sandbox enforces them with a
// margin
inline constexpr double kWatchedRecordsPerSecond = 120;  // of one variable; beyond it the newest value wins
inline constexpr double kWatchedRecordsBurst = 256;
inline constexpr double kWatchedRecordsPerSecondAll = 150;  // half of it is divided among the variables
inline constexpr double kWatchedRecordsBurstAll = 256;      // likewise
inline constexpr double kWatchedBytesPerSecond =
    4 << 20;  // of all small values, and of all large ones; one value may overdraw it
inline constexpr double kWatchedBytesBurst = 16 << 20;
inline constexpr double kWatchedTimeShare = 0.01;      // of R's thread, for all; each has its part
inline constexpr double kWatchedTimeBurstUs = 50'000;  // likewise
inline constexpr int kWatchedLargeMax = 2;             // values of one variable that are held for reading
inline constexpr int kWatchedWaitingMax = 512;         // records of one variable, before they are sent
inline constexpr std::size_t kWatchedInlineBytesMax = 64 << 10;  // a value within its record
inline constexpr std::size_t kWatchedFileBytesMax = 256
                                                    << 20;  // a value in a file, and all files not yet read
inline constexpr std::size_t kWatchedWordsBytesMax = 1000;  // why a value cannot be recorded

// Chunks
inline constexpr std::size_t kChunkBytesMax = 1 << 20;
inline constexpr std::size_t kChunksAskedMax = 2048;  // in one POST /blob/missing
inline constexpr std::int64_t kChunkQueueMax = 128;   // uploads and downloads waiting for a thread
inline constexpr std::int64_t kQuotaMbMax = 16 << 20;
inline constexpr std::int64_t kJobResultsShare = 4;  // uploads of machines for one job: 1/4 of the quota
inline constexpr std::int64_t kHistoryShare = 2;     // of that, the history of watched variables: 1/2

// The volunteers' socket (docs/protocol.md)
inline constexpr std::size_t kFrameBytesMax = 256 << 10;        // one message, either way
inline constexpr std::size_t kUnackedMessagesMax = 64;          // either way
inline constexpr std::size_t kUnackedBytesMax = 256 << 10;      // either way
inline constexpr std::size_t kFrameAttemptsMax = 1024;          // that one message names
inline constexpr std::size_t kOutcomeFilesMax = 64;             // that come with an outcome
inline constexpr std::size_t kOutcomeBytesMax = 128 << 10;      // of those, together
inline constexpr std::size_t kAssignedFilesMax = 8;             // that come with an assignment
inline constexpr std::size_t kAssignedFilesBytesMax = 2 << 10;  // of those, together
inline constexpr std::size_t kMessageTextBytesMax = 1000;       // a reason, a progress message
inline constexpr std::size_t kFailureDetailBytesMax = 8000;     // R's error text
inline constexpr std::size_t kAttemptTokenBytesMax = 200;
inline constexpr std::size_t kSoftwareBytesMax = 200;  // the name and version of an agent
inline constexpr std::size_t kProtocolsMax = 16;       // versions that an agent says it speaks
inline constexpr std::size_t kPackagesMax = 3'000;    // installed on a machine; those that a checkpoint needs
inline constexpr std::size_t kPackageBytesMax = 100;  // of one: its name and version
inline constexpr std::size_t kRVersionBytesMax = 32;
inline constexpr std::size_t kArchitectureBytesMax = 32;
inline constexpr std::size_t kHandshakeBytesMax = 8 << 10;
inline constexpr std::int64_t kHelloSecondsMax = 10;     // from the connection to the machine session
inline constexpr std::size_t kUnsentBytesMax = 4 << 20;  // to a machine that does not read
inline constexpr std::size_t kSocketsMax = 4'000;        // in one market, unless configured otherwise
inline constexpr int kLossesMax = 5;                     // attempts of a job that were lost
inline constexpr int kHandBacksMax = 20;                 // attempts of a job that machines could not continue
inline constexpr std::size_t kSocketsPendingMax = 512;   // connections that have no machine: opening, closing
inline constexpr std::size_t kSocketsPerMachineMax = 4;  // in one market, then the oldest is closed
inline constexpr std::int64_t kClosingSecondsMax = 5;    // from the close frame to the end of the connection
inline constexpr std::int64_t kSocketMessagesPerSecondMax = 2'000;  // over kSocketBurstSeconds
inline constexpr std::int64_t kSocketBurstSeconds = 10;

// Watched variables
inline constexpr std::size_t kRecordInlineBytesMax =
    kWatchedInlineBytesMax;                                             // a value that comes with its record
inline constexpr std::size_t kRecordChunksMax = 2048;                   // of a larger one: 2 GiB
inline constexpr std::size_t kRecordsInMessageMax = 512;                // records
inline constexpr std::int64_t kRecordCountMax = 1'000'000'000'000'000;  // a record's number, its changes
inline constexpr std::int64_t kRecordAgeMsMax = 1'000'000'000'000;      // a record's age: thirty years
inline constexpr std::int64_t kAttemptRecordsPerSecondMax =
    1'000;  // of an attempt, over kAttemptRecordsBurstSeconds
inline constexpr std::int64_t kAttemptRecordBytesPerSecondMax = 4 << 20;  // with the records, the same
inline constexpr std::int64_t kAttemptRecordsBurstSeconds = 10;
inline constexpr std::int64_t kHistoryRecordsMax = 100'000;  // of a job's variables together, then thinned
inline constexpr std::int64_t kHistoryBytesMax = 1LL << 30;  // the same, with 256 for each record

// The time between two checkpoints of a job (core/checkpoint_schedule.h)
inline constexpr std::int64_t kCheckpointIntervalSecondsMin = 10;
inline constexpr std::int64_t kCheckpointIntervalSecondsMax = 3600;
inline constexpr std::int64_t kCheckpointIntervalSecondsFirst = 30;  // before one has been measured

// Checkpoints (volunteer/sandbox/checkpoint_file.h)
inline constexpr std::size_t kCheckpointChunksMax = 15'000;  // that a market keeps of one
inline constexpr std::size_t kCheckpointFileChunksMax =
    kCheckpointChunksMax - 100;  // the rest is the agent's
inline constexpr std::size_t kCheckpointManifestBytesMax = 512 << 10;
inline constexpr std::size_t kCheckpointCallBytesMax = 100;  // the function that a checkpoint was saved in

// Machines
inline constexpr std::size_t kMachineNameBytesMax = 200;
inline constexpr std::int64_t kMachinesPerAccountMax = 10'000;
inline constexpr std::size_t kBanReasonBytesMax = 200;
inline constexpr std::int64_t kTokenRenewSecondsMin = 60;  // from one renewal of a machine's to the next

}  // namespace remotist::limits
