// Reading the history of watched variables, for the job's owner. All refuse with unauthenticated or
// not_found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/id.h"
#include "core/partial_record.h"
#include "core/pg/session.h"
#include "core/result.h"

namespace remotist::market {

// One record. Its value is either here or in chunks.
struct PartialResult {
  std::int64_t sequence;
  std::int64_t changes;
  std::string at;
  PartialKind kind;
  std::int64_t size;
  std::optional<std::string> bytes{};
  std::vector<std::string> chunks{};
  std::optional<std::string> words{};
  bool thinned = false;     // it also stands for records that stood before it
  bool superseded = false;  // its attempt was lost and that part of the job is done again
};

// The newest that was not lost, and what is needed to wait for the next.
struct NewestResult {
  AccountId account;  // the owner
  bool ended;         // the job has: nothing more will come
  std::int64_t newest;
  std::optional<PartialResult> result;
};
Result<NewestResult> newest_partial_result(pg::Session& db, std::string_view token_hash, JobId job,
                                           std::string_view variable);

// Only that value, without a look at the job, when there is one and it is small; none says nothing.
std::optional<PartialResult> small_partial_result(pg::Session& db, std::string_view token_hash, JobId job,
                                                  std::string_view variable);

// What the variable was at that moment; none before its first record. Requires a moment as moment_of() of
// market/api/moment.h gives it.
Result<std::optional<PartialResult>> partial_result_at(pg::Session& db, std::string_view token_hash,
                                                       JobId job, std::string_view variable,
                                                       const std::string& moment);

// Which part of a history: by sequence, by time, or both; both ends are part of it.
struct HistoryRange {
  std::optional<std::int64_t> first, last;
  std::optional<std::string> from, to;
};
struct HistoryPage {
  std::vector<PartialResult> results;  // oldest first
  bool more;                           // there are more, on this page or the next
  std::optional<std::int64_t> next{};  // the page ended early, before this sequence
};
// A page ends with its rows, or early when it has limits::kPageBytesMax.
Result<HistoryPage> partial_history(pg::Session& db, std::string_view token_hash, JobId job,
                                    std::string_view variable, const HistoryRange& range, int page, int rows);

// A watched variable and its newest record, without the value.
struct WatchedVariable {
  std::string variable;
  std::int64_t records;  // in its history
  std::optional<PartialResult> newest;
};
Result<std::vector<WatchedVariable>> watched_variables(pg::Session& db, std::string_view token_hash,
                                                       JobId job);

// How far each of these variables is; none for those whose job is gone.
struct VariableState {
  std::int64_t newest;
  bool ended;
};
std::vector<std::optional<VariableState>> variable_states(
    pg::Session& db, const std::vector<std::pair<JobId, std::string>>& variables);

}  // namespace remotist::market
