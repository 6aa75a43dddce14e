// Watched variables of the attempts that this machine has.
#include <utility>

#include "core/log.h"
#include "volunteer/agent/jobs.h"
#include "volunteer/agent/patience.h"

namespace remotist::volunteer {

using protocol::AttemptName;

void Jobs::changed(const AttemptName& attempt, PartialValue value, Time now) {
  Held* held = find(attempt);
  if (held == nullptr || held->stage != Stage::running) return;
  const auto unread = held->partials.add(std::move(value), now);
  if (!unread.empty()) hands_.discard(attempt, unread);
  upload_next(*held, now);
}

void Jobs::upload_next(Held& held, Time now) {
  while (const auto value = held.partials.next_upload(now)) hands_.upload(held.assignment.attempt, *value);
}

void Jobs::uploaded(const AttemptName& attempt, const LargeValue& value, const TransferFault& fault,
                    std::vector<std::string> chunks, std::int64_t size, Time now) {
  Held* held = find(attempt);
  if (held == nullptr) return;
  if (!fault) {
    held->upload_failures = 0;
    held->partials.uploaded(value, std::move(chunks), size);
  } else {
    log::warn("upload_failed", {{"job", attempt.job.text()}, {"code", fault.code}, {"why", fault.words}});
    // The attempt's token, or the machine's own, may have been replaced meanwhile.
    const bool again =
        may_succeed_later(fault.code) || fault.code == "unauthenticated" || fault.code == "stale_attempt";
    if (again && ++held->upload_failures <= kTransferFailuresMax) {
      held->partials.upload_again(value, now + pause_after(held->upload_failures));
    } else {
      held->upload_failures = 0;
      held->partials.not_uploaded(value, "its value could not be stored: " + fault.words);
      hands_.discard(attempt, value.file);
    }
  }
  upload_next(*held, now);
}

void Jobs::settle(Held& held, Time now) {
  upload_next(held, now);
  if (held.stage == Stage::settling && held.partials.empty()) deliver(held);
}

void Jobs::partials_acknowledged(const AttemptName& attempt, Time now) {
  Held* held = find(attempt);
  if (held == nullptr) return;
  held->partials.acknowledged();
  settle(*held, now);
}

void Jobs::partials_not_done(const AttemptName& attempt, std::string_view code, Time now) {
  Held* held = find(attempt);
  if (held == nullptr) return;
  if (may_succeed_later(code)) return held->partials.say_again(now + pause_after(0));
  log::warn("partials_refused", {{"job", attempt.job.text()}, {"attempt", attempt.number}, {"code", code}});
  held->partials.refused();
  settle(*held, now);
}

std::optional<protocol::Partials> Jobs::take_partials(std::size_t bytes_max, Time now) {
  const auto first = partials_after_ ? held_.upper_bound(*partials_after_) : held_.begin();
  const auto take = [&](HeldMap::iterator from, HeldMap::iterator to) -> std::optional<protocol::Partials> {
    for (auto at = from; at != to; ++at) {
      auto& held = at->second;
      auto records = held.partials.take(bytes_max, now);
      if (records.empty()) continue;
      partials_after_ = at->first;
      return protocol::Partials{held.assignment.attempt, std::move(records)};
    }
    return std::nullopt;
  };
  if (auto taken = take(first, held_.end())) return taken;
  return take(held_.begin(), first);
}

}  // namespace remotist::volunteer
