#include "volunteer/agent/watched_records.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/limits.h"
#include "core/utf8.h"

namespace remotist::volunteer {
namespace {

constexpr std::size_t kEscaped = 6;  // bytes of JSON for one byte of text, at most
constexpr std::size_t kEnvelopeBytes = 160;
constexpr std::size_t kChunkNameBytes = 68;

std::string message_within(std::string_view why) {
  auto text = clean_text(why, limits::kMessageTextBytesMax);
  return text.empty() ? "it cannot be shown" : text;
}

}  // namespace

WatchedRecordQueue::WatchedRecordQueue(std::vector<std::string> variables) {
  for (auto& name : variables) variables_.push_back({.name = std::move(name)});
}

std::size_t WatchedRecordQueue::memory_bytes(const Queued& queued) {
  return kRecordBytes + queued.record.bytes.size() + queued.record.words.size() +
         kChunkNameBytes * queued.record.chunks.size();
}

std::size_t WatchedRecordQueue::message_bytes(const Queued& queued) {
  return kEnvelopeBytes + (queued.record.bytes.size() + 2) / 3 * 4 +
         kEscaped * (queued.record.variable.size() + queued.record.words.size()) +
         kChunkNameBytes * queued.record.chunks.size();
}

void WatchedRecordQueue::update(Queued& queued, auto change) {
  bytes_ -= memory_bytes(queued);
  change();
  bytes_ += memory_bytes(queued);
}

WatchedRecordQueue::Queued WatchedRecordQueue::make_record(Variable& variable, GuestRecord& given, Time now) {
  // Everything in a GuestRecord comes from the job and is not trusted.
  const std::chrono::microseconds since{
      std::clamp<std::int64_t>(given.at_us, 0, 1000 * limits::kRecordAgeMsMax)};
  // The record with the least delay gives the best estimate of the run's beginning.
  if (!run_began_ || now - since < *run_began_) run_began_ = now - since;
  Queued queued{.record = {.variable = variable.name,
                           .number = std::min(given.record.number, limits::kRecordCountMax),
                           .changes = std::min(given.record.changes, limits::kRecordCountMax),
                           .age_ms = 0,
                           .kind = given.record.kind},
                .changed_at = std::min(now, *run_began_ + since)};
  if (variable.dropped_changes)
    queued.record.changes =
        changes_together(*std::exchange(variable.dropped_changes, {}), queued.record.changes);
  if (queued.record.kind == WatchedKind::problem) queued.record.words = message_within(given.record.words);
  if (queued.record.kind != WatchedKind::value) return queued;
  queued.file = std::move(given.file);
  if (given.record.bytes.size() <= limits::kRecordInlineBytesMax) {
    queued.record.bytes = std::move(given.record.bytes);
  } else if (queued.file.empty()) {
    queued.record.kind = WatchedKind::problem;
    queued.record.words = "its value is too large";
  }
  return queued;
}

std::string WatchedRecordQueue::add(GuestRecord given, Time now) {
  if (given.variable >= variables_.size() || given.record.number < 1) return std::move(given.file);
  auto& variable = variables_[given.variable];
  auto& queue = variable.queue;
  auto queued = make_record(variable, given, now);
  const bool is_full = records_ >= kRecordsMax || bytes_ + memory_bytes(queued) > kBytesMax;
  // A large value whose upload has not begun is always replaced.
  const bool replaces = !queue.empty() && !queue.back().sent && !queue.back().uploading &&
                        (is_full || !queue.back().can_be_sent());
  if (!replaces) {
    ++records_;
    bytes_ += memory_bytes(queued);
    queue.push_back(std::move(queued));
    return {};
  }
  variable.add_gap(queue.back().record.number);
  queued.record.changes = changes_together(queue.back().record.changes, queued.record.changes);
  std::string file;
  update(queue.back(), [&] {
    file = std::move(queue.back().file);
    queue.back() = std::move(queued);
  });
  return file;
}

// --- large values

std::optional<LargeValue> WatchedRecordQueue::next_upload(Time now) {
  if (uploads_ >= kUploadsMax) return std::nullopt;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    auto& queue = variables_[i].queue;
    // Only the first of the queue: the market deletes chunks that only an older value referred to.
    if (queue.empty() || queue.front().can_be_sent() || queue.front().uploading ||
        queue.front().upload_not_before > now)
      continue;
    queue.front().uploading = true;
    ++uploads_;
    return LargeValue{i, queue.front().record.number, queue.front().file};
  }
  return std::nullopt;
}

WatchedRecordQueue::Queued* WatchedRecordQueue::end_upload(const LargeValue& value) {
  if (value.variable >= variables_.size()) return nullptr;
  auto& queue = variables_[value.variable].queue;
  if (queue.empty() || queue.front().record.number != value.number || !queue.front().uploading)
    return nullptr;
  queue.front().uploading = false;
  --uploads_;
  return &queue.front();
}

void WatchedRecordQueue::uploaded(const LargeValue& value, std::vector<std::string> chunks,
                                  std::int64_t size) {
  Queued* queued = end_upload(value);
  if (queued == nullptr) return;
  update(*queued, [&] {
    queued->file.clear();
    queued->record.chunks = std::move(chunks);
    queued->record.size = size;
  });
}

void WatchedRecordQueue::retry_upload(const LargeValue& value, Time at) {
  if (Queued* queued = end_upload(value)) queued->upload_not_before = at;
}

void WatchedRecordQueue::upload_failed(const LargeValue& value, std::string why) {
  Queued* queued = end_upload(value);
  if (queued == nullptr) return;
  variables_[value.variable].add_gap(value.number);
  update(*queued, [&] {
    queued->file.clear();
    queued->record.kind = WatchedKind::problem;
    queued->record.words = message_within(why);
  });
}

// --- messages

std::vector<WatchedRecord> WatchedRecordQueue::take(std::size_t bytes_max, Time now) {
  std::vector<WatchedRecord> records;
  if (in_flight_ > 0 || retry_at_ > now || records_ == 0) return records;
  std::size_t bytes = 0;
  for (std::size_t turn = 0; turn < variables_.size(); ++turn) {
    auto& [name, queue, in_flight, dropped_changes, gaps] = variables_[(first_ + turn) % variables_.size()];
    in_flight = 0;
    for (auto& queued : queue) {
      const auto more = message_bytes(queued);
      if (!queued.can_be_sent() || bytes + more > bytes_max || records.size() >= limits::kRecordsInMessageMax)
        break;
      bytes += more;
      queued.sent = true;
      ++in_flight;
      const auto age = std::chrono::floor<std::chrono::milliseconds>(now - queued.changed_at).count();
      queued.record.age_ms = std::clamp<std::int64_t>(age, 0, limits::kRecordAgeMsMax);
      records.push_back(queued.record);
    }
  }
  in_flight_ = records.size();
  if (!records.empty()) first_ = (first_ + 1) % variables_.size();
  return records;
}

void WatchedRecordQueue::acknowledged() {
  if (in_flight_ == 0) return;
  in_flight_ = 0;
  for (auto& variable : variables_) {
    for (; variable.in_flight > 0; --variable.in_flight) {
      --records_;
      bytes_ -= memory_bytes(variable.queue.front());
      variable.queue.pop_front();
    }
  }
}

void WatchedRecordQueue::retry_all(Time at) {
  in_flight_ = 0;
  retry_at_ = at;
}

void WatchedRecordQueue::rejected() {
  if (in_flight_ == 0) return;
  for (auto& variable : variables_) {
    std::optional<std::int64_t> changes = variable.dropped_changes;
    for (std::size_t i = 0; i < variable.in_flight; ++i) {
      const auto more = variable.queue[i].record.changes;
      variable.add_gap(variable.queue[i].record.number);
      changes = changes ? changes_together(*changes, more) : more;
    }
    if (variable.queue.size() > variable.in_flight && changes) {
      auto& next = variable.queue[variable.in_flight].record;
      next.changes = changes_together(next.changes, *changes);
      changes.reset();
    }
    variable.dropped_changes = changes;
  }
  acknowledged();
}

void WatchedRecordQueue::Variable::add_gap(std::int64_t number) {
  if (!gaps.empty() && number == gaps.back().last + 1) {
    gaps.back().last = number;
    return;
  }
  if (gaps.size() == kGapsMax) {
    // What is forgotten counts as missing.
    const auto last = std::ranges::max(gaps, {}, &Gap::last).last;
    gaps = {{0, last}};
  }
  gaps.push_back({number, number});
}

bool WatchedRecordQueue::is_settled(std::size_t variable, std::int64_t number) const {
  if (variable >= variables_.size()) return true;
  const auto& queue = variables_[variable].queue;
  return queue.empty() || queue.front().record.number > number;
}

bool WatchedRecordQueue::is_recorded(std::size_t variable, std::int64_t number) const {
  if (variable >= variables_.size()) return false;
  return std::ranges::none_of(variables_[variable].gaps,
                              [&](const Gap& gap) { return gap.first <= number && number <= gap.last; });
}

Time WatchedRecordQueue::due() const {
  Time due = retry_at_ == Time{} ? Time::max() : retry_at_;
  for (const auto& variable : variables_) {
    if (variable.queue.empty() || variable.queue.front().upload_not_before == Time{}) continue;
    due = std::min(due, variable.queue.front().upload_not_before);
  }
  return due;
}

void WatchedRecordQueue::wake(Time now) {
  if (retry_at_ <= now) retry_at_ = {};
  for (auto& variable : variables_) {
    if (!variable.queue.empty() && variable.queue.front().upload_not_before <= now)
      variable.queue.front().upload_not_before = {};
  }
}

}  // namespace remotist::volunteer
