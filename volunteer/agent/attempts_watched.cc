// The part of Attempts about watched variables.
#include <utility>

#include "core/log.h"
#include "volunteer/agent/attempts.h"
#include "volunteer/agent/retry_policy.h"

namespace remotist::volunteer {

using protocol::AttemptName;

void Attempts::on_watched_record(const AttemptName& name, GuestRecord record, Time now) {
  Attempt* attempt = find(name);
  if (attempt == nullptr || attempt->stage != Stage::running) return;
  const auto unused_file = attempt->records.add(std::move(record), now);
  if (!unused_file.empty()) actions_.discard(name, unused_file);
  upload_next(*attempt, now);
}

void Attempts::upload_next(Attempt& attempt, Time now) {
  while (const auto value = attempt.records.next_upload(now))
    actions_.upload(attempt.assignment.attempt, *value);
}

void Attempts::on_uploaded(const AttemptName& name, const LargeValue& value, const TransferFault& fault,
                           std::vector<std::string> chunks, std::int64_t size, Time now) {
  Attempt* attempt = find(name);
  if (attempt == nullptr) return;
  if (!fault) {
    attempt->upload_failures = 0;
    attempt->records.uploaded(value, std::move(chunks), size);
  } else {
    log::warn("upload_failed", {{"job", name.job.text()},
                                {"attempt", name.number},
                                {"request", request_of(attempt->assignment)},
                                {"code", fault.code},
                                {"why", fault.message}});
    // The attempt's token or the machine's token may have been replaced since the upload began.
    const bool retry =
        is_retryable(fault.code) || fault.code == "unauthenticated" || fault.code == "stale_attempt";
    if (retry && ++attempt->upload_failures <= kTransferFailuresMax) {
      attempt->records.retry_upload(value, now + retry_delay(attempt->upload_failures));
    } else {
      attempt->upload_failures = 0;
      attempt->records.upload_failed(value, "its value could not be uploaded: " + fault.message);
      actions_.discard(name, value.file);
    }
  }
  upload_next(*attempt, now);
}

void Attempts::deliver_if_flushed(Attempt& attempt, Time now) {
  upload_next(attempt, now);
  // The earlier attempt that this one resumed is paid when the market knows, before this one ends.
  const bool reported =
      attempt.resume.state == ReportState::none || attempt.resume.state == ReportState::acknowledged;
  if (attempt.stage == Stage::flushing && attempt.records.empty() && reported) deliver(attempt);
}

void Attempts::records_acknowledged(const AttemptName& name, Time now) {
  Attempt* attempt = find(name);
  if (attempt == nullptr) return;
  attempt->records.acknowledged();
  step_checkpoints(*attempt, now);
  deliver_if_flushed(*attempt, now);
}

void Attempts::records_rejected(const AttemptName& name, std::string_view code, Time now) {
  Attempt* attempt = find(name);
  if (attempt == nullptr) return;
  if (is_retryable(code)) return attempt->records.retry_all(now + retry_delay(0));
  log::warn("records_rejected", {{"job", name.job.text()},
                                 {"attempt", name.number},
                                 {"request", request_of(attempt->assignment)},
                                 {"code", code}});
  attempt->records.rejected();
  step_checkpoints(*attempt, now);
  deliver_if_flushed(*attempt, now);
}

std::optional<protocol::WatchedRecords> Attempts::take_records(std::size_t bytes_max, Time now) {
  const auto first = last_records_of_ ? attempts_.upper_bound(*last_records_of_) : attempts_.begin();
  const auto take = [&](AttemptMap::iterator from,
                        AttemptMap::iterator to) -> std::optional<protocol::WatchedRecords> {
    for (auto at = from; at != to; ++at) {
      auto& attempt = at->second;
      auto records = attempt.records.take(bytes_max, now);
      if (records.empty()) continue;
      last_records_of_ = at->first;
      return protocol::WatchedRecords{attempt.assignment.attempt, std::move(records)};
    }
    return std::nullopt;
  };
  if (auto taken = take(first, attempts_.end())) return taken;
  return take(attempts_.begin(), first);
}

}  // namespace remotist::volunteer
