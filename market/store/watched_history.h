// Reads the history of watched variables, for the job's owner. All refuse with unauthenticated or not_found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/id.h"
#include "core/pg/connection.h"
#include "core/result.h"
#include "core/watched_record.h"

namespace remotist::market {

// One watched record. Its value is either in `bytes` or in chunks.
struct StoredRecord {
  std::int64_t sequence;
  std::int64_t changes;
  std::string at;
  WatchedKind kind;
  std::int64_t size;
  std::optional<std::string> bytes{};
  std::vector<std::string> chunks{};
  std::optional<std::string> words{};
  bool thinned = false;     // it also stands for deleted records before it
  bool superseded = false;  // its attempt was lost and the job starts again
};

// The newest record that is not superseded, and what is needed to wait for the next.
struct NewestStoredRecord {
  AccountId account;  // the owner
  bool ended;         // the job has: nothing more will come
  std::int64_t newest;
  std::optional<StoredRecord> result;
};
Result<NewestStoredRecord> newest_record(pg::Connection& db, std::string_view token_hash, JobId job,
                                         std::string_view variable);

// The same value in a cheaper query, if there is one and it is small; otherwise empty, which says nothing
// about the job.
std::optional<StoredRecord> small_newest_record(pg::Connection& db, std::string_view token_hash, JobId job,
                                                std::string_view variable);

// The variable's record at that time; empty before its first record. Requires a text of timestamp_of()
// (market/api/timestamp.h).
Result<std::optional<StoredRecord>> record_at(pg::Connection& db, std::string_view token_hash, JobId job,
                                              std::string_view variable, const std::string& timestamp);

// A part of a history: by sequence, by time, or both; both ends are included.
struct HistoryRange {
  std::optional<std::int64_t> first, last;
  std::optional<std::string> from, to;
};
struct HistoryPage {
  std::vector<StoredRecord> results;   // oldest first
  bool more;                           // there are more, on this page or the next
  std::optional<std::int64_t> next{};  // the page ended early, before this sequence
};
// A page ends after its rows, or earlier when it reaches limits::kPageBytesMax.
Result<HistoryPage> record_history(pg::Connection& db, std::string_view token_hash, JobId job,
                                   std::string_view variable, const HistoryRange& range, int page, int rows);

// A watched variable and its newest record, without the value.
struct WatchedVariable {
  std::string variable;
  std::int64_t records;  // in its history
  std::optional<StoredRecord> newest;
};
Result<std::vector<WatchedVariable>> watched_variables(pg::Connection& db, std::string_view token_hash,
                                                       JobId job);

// The newest sequence of each of these variables; empty for those whose job was deleted.
struct VariableState {
  std::int64_t newest;
  bool ended;
};
std::vector<std::optional<VariableState>> variable_states(
    pg::Connection& db, const std::vector<std::pair<JobId, std::string>>& variables);

}  // namespace remotist::market
