#include "core/attempt_outcome.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>

#include "core/limits.h"

namespace remotist {
namespace {

using std::chrono::seconds;

constexpr std::array kFailures{
    FailureRow{FailureCode::r_error, "r_error", FailureSource::agent, "the script stopped with an R error",
               ""},
    FailureRow{FailureCode::killed, "killed", FailureSource::agent,
               "a signal of its own making, such as a segmentation fault, ended the R process",
               "The R process crashed or was killed."},
    FailureRow{FailureCode::price_used_up, "price_used_up", FailureSource::agent,
               "the job used all the CPU time that its price pays for",
               "It used more CPU time than its price pays for. Submit it again with a higher `price`."},
    FailureRow{FailureCode::limit_ram, "limit_ram", FailureSource::agent,
               "the job used more memory than it asked for, or more locks or pipes than are allowed",
               "It used more memory than `ram`. Submit it again with a higher `ram`."},
    FailureRow{FailureCode::limit_disc, "limit_disc", FailureSource::agent,
               "the job used more disc than it asked for, or failed when its disc was full",
               "It used more disc space than `disc`. Submit it again with a higher `disc`."},
    FailureRow{FailureCode::limit_inodes, "limit_inodes", FailureSource::agent,
               "the job made more files than its disc can hold", "It created too many files."},
    FailureRow{FailureCode::limit_frames, "limit_frames", FailureSource::agent,
               "the job sent the agent more messages than are allowed",
               "It sent too many messages. Report progress less often."},
    FailureRow{
        FailureCode::too_large, "too_large", FailureSource::agent,
        "a file of the result is larger than a job's file may be",
        "A file of its result is too large. Reduce the size of the result, or write it to several files."},
    FailureRow{
        FailureCode::no_file, "no_file", FailureSource::agent,
        "a file of the result could no longer be read when it was to be sent",
        "A file of its result could not be read. Check whether the script leaves processes behind that "
        "change its files."},
    FailureRow{
        FailureCode::quota_exceeded, "quota_exceeded", FailureSource::agent,
        "the result does not fit the owner's storage",
        "Its result exceeds your storage. Delete jobs with `deleteJob()`, or reduce the size of the result."},
    FailureRow{FailureCode::invalid_files, "invalid_files", FailureSource::agent,
               "the job's own files cannot be written to one folder",
               "Its files cannot be written to one folder. Submit it again with other paths."},
    FailureRow{FailureCode::unreportable, "unreportable", FailureSource::agent,
               "the market cannot store the names or texts that the job produced",
               "Its files or messages cannot be stored. Check the names of the files that it creates, and "
               "its messages."},
    FailureRow{
        FailureCode::lost_too_often, "lost_too_often", FailureSource::market,
        "machine after machine was lost while it ran the job, without a new checkpoint",
        "Too many machines were lost while they ran it. Submit it again, or split it into smaller jobs."},
    FailureRow{
        FailureCode::handed_back_too_often, "handed_back_too_often", FailureSource::market,
        "machine after machine could not continue the job and handed it back",
        "Too many machines could not run it and returned it. Submit it again, with fewer or other files."},
};

constexpr TooOften kLostTooOften{Counter::losses, limits::kLossesMax, FailureCode::lost_too_often,
                                 "five machines in a row were lost before they had recorded a checkpoint of "
                                 "this job: look whether it needs more memory than it asks for"};
constexpr TooOften kHandedBackTooOften{
    Counter::hand_backs, limits::kHandBacksMax, FailureCode::handed_back_too_often,
    "twenty times a machine could not continue this job and handed it back"};

constexpr bool kRan = true;
constexpr bool kDidNotRun = false;
constexpr bool kReadmits = true;
constexpr bool kStaysExcluded = false;
constexpr std::optional<AttemptOutcome> kNotFromAgent = std::nullopt;

constexpr std::array kOutcomes{
    OutcomeRow{AttemptOutcome::completed, "completed", JobState::completed, Pay::measured, kRan, seconds{0},
               kStaysExcluded, AttemptOutcome::completed, std::nullopt, "",
               "the script ended, and the market has its result", ""},
    OutcomeRow{AttemptOutcome::failed, "failed", JobState::failed, Pay::measured, kRan, seconds{0},
               kStaysExcluded, AttemptOutcome::failed, std::nullopt, "job_failed",
               "the job cannot succeed elsewhere either: see the failure codes", ""},
    // An agent sends it for an attempt that the market has ended as cancelled or expired. For any other it
    // means that the agent stopped the attempt by itself.
    OutcomeRow{AttemptOutcome::cancelled, "cancelled", JobState::cancelled, Pay::measured_until_stop,
               kDidNotRun, seconds{0}, kStaysExcluded, AttemptOutcome::handed_back, std::nullopt,
               "job_cancelled",
               "its owner or an admin cancelled the job, or the owner's account was disabled", ""},
    OutcomeRow{AttemptOutcome::expired, "expired", JobState::expired, Pay::measured_until_stop, kDidNotRun,
               seconds{0}, kStaysExcluded, kNotFromAgent, std::nullopt, "job_expired",
               "the job's deadline passed",
               "Submit it again with a later `deadline`, or with a higher `price`, so that more machines can "
               "run it."},
    OutcomeRow{AttemptOutcome::refused, "refused", JobState::queued, Pay::nothing, kDidNotRun, seconds{60},
               kStaysExcluded, kNotFromAgent, std::nullopt, "",
               "the machine refused the job, or did not accept it in time", ""},
    OutcomeRow{AttemptOutcome::handed_back, "handed_back", JobState::queued, Pay::saved, kDidNotRun,
               seconds{60}, kStaysExcluded, AttemptOutcome::handed_back, kHandedBackTooOften, "",
               "the machine could not continue the job, was asked to hand it over, left the market, or was "
               "banned or removed; only the first of these counts towards the limit",
               ""},
    OutcomeRow{AttemptOutcome::lost, "lost", JobState::queued, Pay::saved, kDidNotRun, kForGood, kReadmits,
               kNotFromAgent, kLostTooOften, "",
               "the machine was not heard from for a lease, its beats did not name the attempt, or its agent "
               "started again without it",
               ""},
};

// The compiler reports an enumerator that one of these two lacks, and the assertions below one without a row.
constexpr bool is_enumerator(AttemptOutcome outcome) {
  switch (outcome) {
    case AttemptOutcome::completed:
    case AttemptOutcome::failed:
    case AttemptOutcome::cancelled:
    case AttemptOutcome::expired:
    case AttemptOutcome::refused:
    case AttemptOutcome::handed_back:
    case AttemptOutcome::lost:
      return true;
  }
  return false;
}

constexpr bool is_enumerator(FailureCode code) {
  switch (code) {
    case FailureCode::r_error:
    case FailureCode::killed:
    case FailureCode::price_used_up:
    case FailureCode::limit_ram:
    case FailureCode::limit_disc:
    case FailureCode::limit_inodes:
    case FailureCode::limit_frames:
    case FailureCode::too_large:
    case FailureCode::no_file:
    case FailureCode::quota_exceeded:
    case FailureCode::invalid_files:
    case FailureCode::unreportable:
    case FailureCode::lost_too_often:
    case FailureCode::handed_back_too_often:
      return true;
  }
  return false;
}

// Whether the table has one row for each enumerator, in their order.
template <class Row, std::size_t kSize, class Key>
constexpr bool follows_enumeration(const std::array<Row, kSize>& table, Key Row::* key) {
  for (std::size_t i = 0; i <= UINT8_MAX; ++i) {
    const bool has_row = i < kSize && static_cast<std::size_t>(table[i].*key) == i;
    if (is_enumerator(static_cast<Key>(i)) != has_row) return false;
  }
  return true;
}
static_assert(follows_enumeration(kFailures, &FailureRow::code));
static_assert(follows_enumeration(kOutcomes, &OutcomeRow::outcome));

template <class Row, std::size_t kSize, class Key>
std::optional<Key> named(const std::array<Row, kSize>& table, Key Row::* key, std::string_view name) {
  const auto row = std::ranges::find(table, name, &Row::name);
  if (row == table.end()) return std::nullopt;
  return (*row).*key;
}

}  // namespace

std::string_view name_of(Pay pay) {
  switch (pay) {
    case Pay::nothing:
      return "nothing";
    case Pay::measured:
      return "measured";
    case Pay::measured_until_stop:
      return "measured_until_stop";
    case Pay::saved:
      return "saved";
  }
  std::abort();
}

std::string_view name_of(Counter counter) {
  switch (counter) {
    case Counter::losses:
      return "losses";
    case Counter::hand_backs:
      return "hand_backs";
  }
  std::abort();
}

std::span<const OutcomeRow> outcome_table() {
  return kOutcomes;
}

std::span<const FailureRow> failure_table() {
  return kFailures;
}

const OutcomeRow& row_of(AttemptOutcome outcome) {
  return kOutcomes[static_cast<std::size_t>(outcome)];
}

const FailureRow& row_of(FailureCode code) {
  return kFailures[static_cast<std::size_t>(code)];
}

std::optional<AttemptOutcome> attempt_outcome_named(std::string_view name) {
  return named(kOutcomes, &OutcomeRow::outcome, name);
}

std::optional<FailureCode> failure_code_named(std::string_view name) {
  return named(kFailures, &FailureRow::code, name);
}

}  // namespace remotist
