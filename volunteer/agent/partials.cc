#include "volunteer/agent/partials.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/limits.h"
#include "core/utf8.h"

namespace remotist::volunteer {
namespace {

constexpr std::size_t kEscaped = 6;  // bytes of JSON for one, at worst
constexpr std::size_t kEnvelopeBytes = 160;
constexpr std::size_t kChunkNameBytes = 68;

PartialKind kind_of(PartialValue::Kind kind) {
  switch (kind) {
    case PartialValue::Kind::value:
      return PartialKind::value;
    case PartialValue::Kind::removed:
      return PartialKind::removed;
    case PartialValue::Kind::problem:
      return PartialKind::problem;
  }
  return PartialKind::problem;
}

std::int64_t count_of(std::uint64_t count) {
  return static_cast<std::int64_t>(std::min(count, static_cast<std::uint64_t>(limits::kPartialCountMax)));
}

std::string words_within(std::string_view words) {
  auto text = clean_text(words, limits::kMessageTextBytesMax);
  return text.empty() ? "it cannot be shown" : text;
}

}  // namespace

Partials::Partials(std::vector<std::string> variables) {
  for (auto& name : variables) variables_.push_back({.name = std::move(name)});
}

std::size_t Partials::weight_of(const Held& held) {
  return kRecordBytes + held.record.bytes.size() + held.record.words.size() +
         kChunkNameBytes * held.record.chunks.size();
}

std::size_t Partials::wire_bytes_of(const Held& held) {
  return kEnvelopeBytes + (held.record.bytes.size() + 2) / 3 * 4 +
         kEscaped * (held.record.variable.size() + held.record.words.size()) +
         kChunkNameBytes * held.record.chunks.size();
}

// Changes a record and what all of them weigh.
void Partials::weigh(Held& held, auto change) {
  bytes_ -= weight_of(held);
  change();
  bytes_ += weight_of(held);
}

Partials::Held Partials::held_of(Variable& variable, PartialValue& value, Time now) {
  // The job's word, like everything here.
  const std::chrono::microseconds since{
      std::clamp<std::int64_t>(value.at_us, 0, 1000 * limits::kPartialAgeMsMax)};
  // What came through without a delay says best when the run began.
  if (!began_ || now - since < *began_) began_ = now - since;
  Held held{.record = {.variable = variable.name,
                       .number = count_of(value.number),
                       .changes = count_of(value.changes),
                       .age_ms = 0,
                       .kind = kind_of(value.kind)},
            .at = std::min(now, *began_ + since)};
  if (variable.owed)
    held.record.changes = changes_together(*std::exchange(variable.owed, {}), held.record.changes);
  if (held.record.kind == PartialKind::problem) held.record.words = words_within(value.words);
  if (held.record.kind != PartialKind::value) return held;
  held.file = std::move(value.file);
  if (value.bytes.size() <= limits::kPartialInlineBytesMax) {
    held.record.bytes = std::move(value.bytes);
  } else if (held.file.empty()) {
    held.record.kind = PartialKind::problem;
    held.record.words = "its value is too large";
  }
  return held;
}

std::string Partials::add(PartialValue value, Time now) {
  if (value.variable >= variables_.size() || value.number == 0) return std::move(value.file);
  auto& variable = variables_[value.variable];
  auto& queue = variable.queue;
  auto held = held_of(variable, value, now);
  const bool is_full = records_ >= kRecordsMax || bytes_ + weight_of(held) > kBytesMax;
  // A large value that nobody has begun to upload gives way in any case.
  const bool replaces =
      !queue.empty() && !queue.back().said && !queue.back().uploading && (is_full || !queue.back().ready());
  if (!replaces) {
    ++records_;
    bytes_ += weight_of(held);
    queue.push_back(std::move(held));
    return {};
  }
  held.record.changes = changes_together(queue.back().record.changes, held.record.changes);
  std::string file;
  weigh(queue.back(), [&] {
    file = std::move(queue.back().file);
    queue.back() = std::move(held);
  });
  return file;
}

// --- large values

std::optional<LargeValue> Partials::next_upload(Time now) {
  if (uploads_ >= kUploadsMax) return std::nullopt;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    auto& queue = variables_[i].queue;
    // Only when nothing stands before it: the market lets go of chunks that only an older value had.
    if (queue.empty() || queue.front().ready() || queue.front().uploading || queue.front().not_before > now)
      continue;
    queue.front().uploading = true;
    ++uploads_;
    return LargeValue{i, queue.front().record.number, queue.front().file};
  }
  return std::nullopt;
}

Partials::Held* Partials::find(const LargeValue& value) {
  if (value.variable >= variables_.size()) return nullptr;
  auto& queue = variables_[value.variable].queue;
  if (queue.empty() || queue.front().record.number != value.number || !queue.front().uploading)
    return nullptr;
  queue.front().uploading = false;
  --uploads_;
  return &queue.front();
}

void Partials::uploaded(const LargeValue& value, std::vector<std::string> chunks, std::int64_t size) {
  Held* held = find(value);
  if (held == nullptr) return;
  weigh(*held, [&] {
    held->file.clear();
    held->record.chunks = std::move(chunks);
    held->record.size = size;
  });
}

void Partials::upload_again(const LargeValue& value, Time at) {
  if (Held* held = find(value)) held->not_before = at;
}

void Partials::not_uploaded(const LargeValue& value, std::string words) {
  Held* held = find(value);
  if (held == nullptr) return;
  weigh(*held, [&] {
    held->file.clear();
    held->record.kind = PartialKind::problem;
    held->record.words = words_within(words);
  });
}

// --- what is said

std::vector<PartialRecord> Partials::take(std::size_t bytes_max, Time now) {
  std::vector<PartialRecord> records;
  if (in_flight_ > 0 || again_at_ > now || records_ == 0) return records;
  std::size_t bytes = 0;
  for (std::size_t turn = 0; turn < variables_.size(); ++turn) {
    auto& [name, queue, in_flight, owed] = variables_[(first_ + turn) % variables_.size()];
    in_flight = 0;
    for (auto& held : queue) {
      const auto more = wire_bytes_of(held);
      if (!held.ready() || bytes + more > bytes_max || records.size() >= limits::kPartialsInMessageMax) break;
      bytes += more;
      held.said = true;
      ++in_flight;
      const auto age = std::chrono::floor<std::chrono::milliseconds>(now - held.at).count();
      held.record.age_ms = std::clamp<std::int64_t>(age, 0, limits::kPartialAgeMsMax);
      records.push_back(held.record);
    }
  }
  in_flight_ = records.size();
  if (!records.empty()) first_ = (first_ + 1) % variables_.size();
  return records;
}

void Partials::acknowledged() {
  if (in_flight_ == 0) return;
  in_flight_ = 0;
  for (auto& variable : variables_) {
    for (; variable.in_flight > 0; --variable.in_flight) {
      --records_;
      bytes_ -= weight_of(variable.queue.front());
      variable.queue.pop_front();
    }
  }
}

void Partials::say_again(Time at) {
  in_flight_ = 0;
  again_at_ = at;
}

void Partials::refused() {
  if (in_flight_ == 0) return;
  for (auto& variable : variables_) {
    std::optional<std::int64_t> changes = variable.owed;
    for (std::size_t i = 0; i < variable.in_flight; ++i) {
      const auto more = variable.queue[i].record.changes;
      changes = changes ? changes_together(*changes, more) : more;
    }
    if (variable.queue.size() > variable.in_flight && changes) {
      auto& next = variable.queue[variable.in_flight].record;
      next.changes = changes_together(next.changes, *changes);
      changes.reset();
    }
    variable.owed = changes;
  }
  acknowledged();
}

Time Partials::due() const {
  Time due = again_at_ == Time{} ? Time::max() : again_at_;
  for (const auto& variable : variables_) {
    if (variable.queue.empty() || variable.queue.front().not_before == Time{}) continue;
    due = std::min(due, variable.queue.front().not_before);
  }
  return due;
}

void Partials::wake(Time now) {
  if (again_at_ <= now) again_at_ = {};
  for (auto& variable : variables_) {
    if (!variable.queue.empty() && variable.queue.front().not_before <= now)
      variable.queue.front().not_before = {};
  }
}

}  // namespace remotist::volunteer
