#include "market/store/resumed_attempts.h"

#include <algorithm>

#include "core/json.h"
#include "core/limits.h"
#include "core/pg/arrays.h"
#include "core/pg/statement.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

std::string text_of(const std::vector<SkippedCheckpoint>& skipped) {
  auto list = nlohmann::json::array();
  for (const auto& [sequence, reason] : skipped) list.push_back({{"sequence", sequence}, {"reason", reason}});
  return list.dump();
}

// Why the newest one was not resumed.
std::optional<std::string> first_reason(const ResumeReport& report) {
  const auto newest = std::ranges::max_element(report.skipped, {}, &SkippedCheckpoint::sequence);
  if (newest == report.skipped.end()) return std::nullopt;
  return newest->reason;
}

}  // namespace

bool note_resumed(pg::Connection& db, const protocol::AttemptName& attempt, const ResumeReport& report) {
  return !pg::write(db, sql::attempt_resume,
                    pqxx::params{attempt.job.text(), attempt.number, report.sequence, text_of(report.skipped),
                                 first_reason(report)})
              .empty();
}

bool is_usable(pg::Connection& db, const protocol::AttemptName& attempt, int sequence) {
  return pg::read(db, sql::checkpoint_usable, pqxx::params{attempt.job.text(), sequence, attempt.number})
      .one_field()
      .as<bool>();
}

void pass_over_checkpoints(pg::Connection& db, const protocol::AttemptName& attempt,
                           const ResumeReport& report) {
  const std::string why =
      "attempt " + std::to_string(attempt.number) +
      (report.sequence == 0 ? std::string{" began afresh"}
                            : " went on from checkpoint " + std::to_string(report.sequence));
  pg::write(db, sql::checkpoints_pass_over,
            pqxx::params{attempt.job.text(), report.sequence, attempt.number, why});
  if (report.skipped.empty()) return;
  pg::write(db, sql::checkpoints_skip,
            pqxx::params{attempt.job.text(), pg::array_of(report.skipped, &SkippedCheckpoint::sequence),
                         pg::array_of(report.skipped, &SkippedCheckpoint::reason)});
}

void pay_saved(pg::Connection& db, JobId job, int sequence) {
  pg::write(db, sql::attempt_pay_saved, pqxx::params{job.text(), sequence, TransferId::make().text()});
}

std::optional<LeavingAttempt> ask_to_leave(pg::Connection& db, const protocol::AttemptName& attempt) {
  const auto rows = pg::write(db, sql::attempt_leave,
                              pqxx::params{attempt.job.text(), attempt.number, limits::kHandOverSecondsMax});
  if (rows.empty()) return std::nullopt;
  return LeavingAttempt{MachineSessionId::parse(rows[0]["machine_session_id"].view()).value(),
                        MarketId::parse(rows[0]["market_id"].view()).value()};
}

}  // namespace remotist::market
