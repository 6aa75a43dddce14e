// The closed tables of how an attempt ends: every outcome, and every code with which a job fails.
//
// A name is the same word in SQL (type attempt_outcome, column failure_code), JSON, logs, R and here. What
// follows from an outcome is stated in these tables and nowhere else: agent, market and worker read them; the
// SQL functions attempt_excludes(), attempt_pay() and attempt_requeues(), docs/states.md and
// client-r/R/failures.R are compared with them by tests. docs/contributing.md shows how to add a row.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/job_state.h"

namespace remotist {

// Why a job failed.
enum class FailureCode : std::uint8_t {
  r_error,
  killed,
  price_used_up,
  limit_ram,
  limit_disc,
  limit_inodes,
  limit_frames,
  too_large,
  no_file,
  quota_exceeded,
  invalid_files,
  unreportable,
  lost_too_often,
  handed_back_too_often,
};

// Who finds out that a job has failed.
enum class FailureSource : std::uint8_t {
  agent,   // sent in an `outcome` message
  market,  // decided while a report is recorded, never accepted from an agent
};

struct FailureRow {
  FailureCode code;
  std::string_view name;
  FailureSource source;
  std::string_view cause;   // for docs/states.md
  std::string_view advice;  // what the client can do, shown by waitJob(); arguments of addJob() in
                            // backquotes; may be empty
};

enum class AttemptOutcome : std::uint8_t {
  completed,
  failed,
  cancelled,
  expired,
  refused,
  handed_back,
  lost,
};

enum class Pay : std::uint8_t {
  nothing,
  measured,             // the CPU time that the outcome message states
  measured_until_stop,  // the same once the machine has stopped and reported it, at the latest after a lease
  saved,                // that up to its checkpoint from which a later attempt goes on, when it says so
};
std::string_view name_of(Pay pay);

// The columns of table job that count attempts.
enum class Counter : std::uint8_t {
  losses,
  hand_backs,
};
std::string_view name_of(Counter counter);

// A job fails when as many of its attempts as this ended with the outcome.
struct TooOften {
  Counter counter;
  int attempts;  // of one job, whatever other attempts came between; a recorded checkpoint resets losses
  FailureCode code;
  std::string_view detail;  // failure_detail of the job
};

inline constexpr std::chrono::seconds kForGood = std::chrono::seconds::max();

struct OutcomeRow {
  AttemptOutcome outcome;
  std::string_view name;
  JobState job_becomes;  // queued: the job gets another attempt
  Pay pay;
  bool ran;  // the script ran to its end: the report's files are kept, and the attempt counts as accepted
  std::chrono::seconds excludes_machine;  // from this job's next attempts; 0: not at all; or kForGood
  bool checkpoint_readmits;               // not excluded when the attempt had recorded a checkpoint
  // What the market records when an agent sends it for an attempt that the market has not ended; empty:
  // agents may not send it.
  std::optional<AttemptOutcome> recorded_as;
  std::optional<TooOften> too_often;
  std::string_view r_condition;  // class of the error that waitJob() raises, without "remotist_"; empty: none
  std::string_view cause;        // for docs/states.md, and for waitJob() where it raises an error
  std::string_view advice;       // as in FailureRow
};

// All rows, in the order of the enumerations.
std::span<const OutcomeRow> outcome_table();
std::span<const FailureRow> failure_table();

const OutcomeRow& row_of(AttemptOutcome outcome);
const FailureRow& row_of(FailureCode code);
inline std::string_view name_of(AttemptOutcome outcome) {
  return row_of(outcome).name;
}
inline std::string_view name_of(FailureCode code) {
  return row_of(code).name;
}

std::optional<AttemptOutcome> attempt_outcome_named(std::string_view name);
std::optional<FailureCode> failure_code_named(std::string_view name);

}  // namespace remotist
