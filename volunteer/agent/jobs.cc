#include "volunteer/agent/jobs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/limits.h"
#include "core/log.h"
#include "core/utf8.h"
#include "volunteer/agent/patience.h"

namespace remotist::volunteer {
namespace {

using protocol::AttemptKey;
using protocol::AttemptName;
using protocol::OutcomeKind;

constexpr std::size_t kEscaped = 6;  // bytes of JSON for one, at worst
constexpr std::size_t kFileEnvelopeBytes = 64;
constexpr std::string_view kUnreportable = "unreportable";
constexpr std::string_view kFull = "this machine has as many jobs as it can hold";

std::string failure_code_of(const Verdict& verdict) {
  if (verdict.ending == Ending::limit) {
    return verdict.limit == "cpu" ? "price_used_up" : "limit_" + verdict.limit;
  }
  return std::string{name_of(verdict.ending)};
}

void log_attempt(std::string_view event, const AttemptName& attempt, std::string_view why = {}) {
  log::info(event, {{"job", attempt.job.text()}, {"attempt", attempt.number}, {"why", why}});
}

}  // namespace

Jobs::Jobs(Hands& hands, std::size_t attempts_max) : hands_(hands), attempts_max_(attempts_max) {}

Jobs::Held* Jobs::find(const AttemptName& attempt) {
  const auto entry = held_.find(attempt);
  return entry == held_.end() ? nullptr : &entry->second;
}

void Jobs::forget(const AttemptName& attempt) {
  hands_.drop(attempt);
  held_.erase(attempt);
}

// --- what the market says

void Jobs::assign(const protocol::Assignment& assignment) {
  const auto& name = assignment.attempt.name;
  // An older attempt of the same job is over, though nobody said so.
  std::vector<AttemptName> older;
  for (const auto& [held, _] : held_) {
    if (held.job == name.job && held.number < name.number) older.push_back(held);
  }
  for (const auto& attempt : older) forget(attempt);

  const bool is_full = held_.size() >= attempts_max_;
  const auto [entry, is_new] = held_.try_emplace(name, Held{.assignment = assignment});
  auto& held = entry->second;
  if (is_new) {
    log_attempt("job_assigned", name);
    if (is_full) held.stage = Stage::refused;
  } else {
    // Whatever was said about it, the market has not taken.
    held.assignment.attempt.token = assignment.attempt.token;
    held.answer = Told::not_yet;
    held.outcome = Told::not_yet;
    if (held.stage == Stage::ended) queue_outcome(held);
  }
  queue_answer(held);
}

void Jobs::stop(const AttemptName& attempt, std::string_view reason) {
  const Held* held = find(attempt);
  if (held == nullptr) return;
  log_attempt("job_stopped", attempt, reason);
  // What it took to the end is paid when its client or its deadline stopped it. Which of these it was is not
  // known of what a welcome stops.
  const bool is_paid = reason == "cancelled" || reason == "expired" || reason == "welcome";
  const bool began = held->stage == Stage::running || held->verdict.cpu_ms > 0;
  if (is_paid && began && held->outcome != Told::said) {
    asides_.push_back(
        {.attempt = held->assignment.attempt,
         .kind = OutcomeKind::cancelled,
         .cpu_ms = held->stage == Stage::running ? hands_.cpu_ms(attempt) : held->verdict.cpu_ms});
  }
  forget(attempt);
}

bool Jobs::keep(const AttemptName& attempt) {
  Held* held = find(attempt);
  if (held == nullptr) return false;
  queue_answer(*held);
  if (held->stage == Stage::ended) queue_outcome(*held);
  return true;
}

void Jobs::answer_acknowledged(const AttemptName& attempt) {
  Held* held = find(attempt);
  if (held == nullptr) return;
  if (held->stage == Stage::refused) return forget(attempt);
  held->answer = Told::acknowledged;
}

void Jobs::outcome_acknowledged(const AttemptName& attempt) {
  const Held* held = find(attempt);
  if (held == nullptr) return;
  log::info("job_settled", {{"job", attempt.job.text()},
                            {"attempt", attempt.number},
                            {"outcome", name_of(held->kind)},
                            {"cpu_ms", held->verdict.cpu_ms}});
  forget(attempt);
}

void Jobs::answer_not_done(const AttemptName& attempt, std::string_view code, Time now) {
  Held* held = find(attempt);
  if (held == nullptr) return;
  if (!may_succeed_later(code)) return forget(attempt);
  held->answer = Told::not_yet;
  held->again_at = now + pause_after(0);
}

void Jobs::outcome_not_done(const AttemptName& attempt, std::string_view code, std::string_view why,
                            Time now) {
  Held* held = find(attempt);
  if (held == nullptr) return;
  held->outcome = Told::not_yet;
  if (code == "quota_exceeded" && !held->files.empty()) {
    held->files.clear();
    fail(*held, "quota_exceeded", "the result does not fit its owner's storage");
    queue_outcome(*held);
  } else if (may_succeed_later(code)) {
    held->again_at = now + pause_after(0);
  } else if (held->failure_code != kUnreportable) {
    fail_unreportable(*held, why);
    queue_outcome(*held);
  } else {
    forget(attempt);
  }
}

// --- what the hands have done

void Jobs::fetch(Held& held) {
  held.stage = Stage::fetching;
  held.transfer_token = held.assignment.attempt.token;
  hands_.fetch(held.assignment);
}

void Jobs::deliver(Held& held) {
  held.stage = Stage::delivering;
  held.transfer_token = held.assignment.attempt.token;
  hands_.deliver(held.assignment.attempt, held.verdict);
}

bool Jobs::recover(Held& held, const TransferFault& fault, Time now) {
  constexpr std::array<std::string_view, 4> kOver{"stale_attempt", "wrong_state", "not_found", "forbidden"};
  const AttemptName name = held.assignment.attempt.name;
  if (!fault) {
    held.failures = 0;
    return false;
  }
  log::warn("transfer_failed",
            {{"job", name.job.text()}, {"attempt", name.number}, {"code", fault.code}, {"why", fault.words}});
  const bool has_new_token = held.transfer_token != held.assignment.attempt.token;
  if (std::ranges::contains(kOver, fault.code) && !has_new_token) {
    forget(name);
    return true;
  }
  // The machine's own token may have been replaced meanwhile.
  const bool again = has_new_token || fault.code == "unauthenticated" || may_succeed_later(fault.code);
  if (!again || ++held.failures > kTransferFailuresMax) return false;
  held.again_at = now + pause_after(held.failures);
  return true;
}

void Jobs::fetched(const AttemptName& attempt, const TransferFault& fault, Time now) {
  Held* held = find(attempt);
  if (held == nullptr || held->stage != Stage::fetching || recover(*held, fault, now)) return;
  // What is wrong with the job itself would be wrong elsewhere too.
  if (fault.code == "limit_disc" || fault.code == "invalid_files") {
    fail(*held, fault.code, fault.words);
    return end(*held);
  }
  if (fault) return hand_back(*held, fault.words);
  held->stage = Stage::running;
  log_attempt("job_began", attempt);
  hands_.run(held->assignment);
}

void Jobs::progressed(const AttemptName& attempt, double fraction, std::string message) {
  Held* held = find(attempt);
  if (held == nullptr || held->stage != Stage::running) return;
  if (!held->progress) progresses_.push_back(attempt);
  held->progress.emplace(fraction, clean_text(message, limits::kMessageTextBytesMax));
}

void Jobs::ran(const AttemptName& attempt, Verdict verdict, Time now) {
  Held* held = find(attempt);
  if (held == nullptr || held->stage != Stage::running) return;
  log::info("job_ended", {{"job", attempt.job.text()},
                          {"attempt", attempt.number},
                          {"ending", name_of(verdict.ending)},
                          {"cpu_ms", verdict.cpu_ms},
                          {"wall_ms", verdict.wall_ms},
                          {"ram_kb_peak", verdict.ram_kb_peak}});
  held->verdict = std::move(verdict);
  switch (held->verdict.ending) {
    case Ending::completed:
      break;
    case Ending::cancelled:  // not by the market, or it would not be held any more
    case Ending::sandbox_failure:
      return hand_back(*held, held->verdict.message);
    case Ending::r_error:
    case Ending::limit:
    case Ending::killed:
      fail(*held, failure_code_of(held->verdict), held->verdict.message);
      break;
  }
  // Its last values come before its end, or they would come too late.
  held->stage = Stage::settling;
  settle(*held, now);
}

void Jobs::delivered(const AttemptName& attempt, const TransferFault& fault,
                     std::vector<protocol::OutcomeFile> files, Time now) {
  Held* held = find(attempt);
  if (held == nullptr || held->stage != Stage::delivering || recover(*held, fault, now)) return;
  // What is wrong with the result itself would be wrong elsewhere too.
  constexpr std::array<std::string_view, 3> kItsOwn{"quota_exceeded", "too_large", "no_file"};
  constexpr std::array<std::string_view, 4> kMalformed{"invalid_field", "malformed_request", "chunks_missing",
                                                       "unsupported_media_type"};
  if (std::ranges::contains(kItsOwn, fault.code)) {
    fail(*held, fault.code, fault.words);
  } else if (std::ranges::contains(kMalformed, fault.code)) {
    fail_unreportable(*held, fault.words);
  } else if (fault) {
    return hand_back(*held, fault.words);
  } else {
    held->files = std::move(files);
  }
  end(*held);
}

void Jobs::fail(Held& held, std::string_view code, std::string_view detail) {
  held.kind = OutcomeKind::failed;
  held.failure_code = clean_text(code, limits::kFailureCodeBytesMax);
  held.failure_detail = clean_text(detail, limits::kFailureDetailBytesMax);
}

void Jobs::fail_unreportable(Held& held, std::string_view why) {
  log_attempt("job_unreportable", held.assignment.attempt.name, why);
  held.files.clear();
  fail(held, kUnreportable, "the market does not accept what the job left: " + std::string{why});
}

void Jobs::hand_back(Held& held, std::string_view why) {
  log_attempt("job_handed_back", held.assignment.attempt.name, why);
  held.kind = OutcomeKind::handed_back;
  held.partials = Partials{{}};  // another machine does this part again
  held.failure_code.clear();
  held.failure_detail.clear();
  end(held);
}

void Jobs::end(Held& held) {
  held.stage = Stage::ended;
  queue_outcome(held);
}

// --- what is to be said

void Jobs::queue_answer(Held& held) {
  if (held.answer != Told::not_yet) return;
  held.answer = Told::queued;
  (held.stage == Stage::refused ? refusals_ : accepts_).push_back(held.assignment.attempt.name);
}

void Jobs::queue_outcome(Held& held) {
  if (held.outcome != Told::not_yet) return;
  held.outcome = Told::queued;
  outcomes_.push_back(held.assignment.attempt.name);
}

std::vector<AttemptKey> Jobs::take_accepts(std::size_t most) {
  std::vector<AttemptKey> keys;
  while (!accepts_.empty() && keys.size() < most) {
    Held* held = find(accepts_.front());
    accepts_.pop_front();
    if (held == nullptr || held->answer != Told::queued) continue;
    held->answer = Told::said;
    keys.push_back(held->assignment.attempt);
    if (held->stage == Stage::assigned) fetch(*held);
  }
  return keys;
}

Jobs::Refusals Jobs::take_refusals(std::size_t most) {
  Refusals taken{{}, std::string{kFull}};
  while (!refusals_.empty() && taken.attempts.size() < most) {
    Held* held = find(refusals_.front());
    refusals_.pop_front();
    if (held == nullptr || held->answer != Told::queued) continue;
    held->answer = Told::said;
    taken.attempts.push_back(held->assignment.attempt);
  }
  return taken;
}

std::optional<protocol::Progress> Jobs::take_progress() {
  while (!progresses_.empty()) {
    Held* held = find(progresses_.front());
    progresses_.pop_front();
    if (held == nullptr || !held->progress) continue;
    auto progress = *std::exchange(held->progress, std::nullopt);
    if (held->stage != Stage::running) continue;
    return protocol::Progress{held->assignment.attempt, progress.first, std::move(progress.second)};
  }
  return std::nullopt;
}

std::optional<std::size_t> Jobs::next_outcome_bytes() {
  if (!asides_.empty()) return 0;
  while (!outcomes_.empty()) {
    const Held* held = find(outcomes_.front());
    if (held != nullptr && held->outcome == Told::queued) {
      std::size_t bytes = kEscaped * held->failure_detail.size();
      for (const auto& file : held->files)
        bytes += (file.bytes.size() + 2) / 3 * 4 + kEscaped * file.path.size() + kFileEnvelopeBytes;
      return bytes;
    }
    outcomes_.pop_front();
  }
  return std::nullopt;
}

Jobs::Said Jobs::take_outcome() {
  if (!asides_.empty()) {
    auto aside = std::move(asides_.front());
    asides_.pop_front();
    return {std::move(aside), true};
  }
  Held& held = *find(outcomes_.front());
  outcomes_.pop_front();
  held.outcome = Told::said;
  return {{.attempt = held.assignment.attempt,
           .kind = held.kind,
           .cpu_ms = held.verdict.cpu_ms,
           .failure_code = held.failure_code,
           .failure_detail = held.failure_detail,
           .files = held.files},
          false};
}

// --- all of them

std::vector<AttemptKey> Jobs::keys() const {
  std::vector<AttemptKey> keys;
  for (const auto& [_, held] : held_) keys.push_back(held.assignment.attempt);
  return keys;
}

std::vector<protocol::Beat::Running> Jobs::running() const {
  std::vector<protocol::Beat::Running> running;
  for (const auto& [name, held] : held_) {
    const bool accepted = held.answer == Told::said || held.answer == Told::acknowledged;
    if (!accepted || held.stage == Stage::refused || held.outcome == Told::said) continue;
    running.push_back({name, held.stage == Stage::running ? hands_.cpu_ms(name) : held.verdict.cpu_ms});
  }
  return running;
}

std::optional<AttemptKey> Jobs::key(const AttemptName& attempt) const {
  const auto entry = held_.find(attempt);
  if (entry == held_.end()) return std::nullopt;
  return entry->second.assignment.attempt;
}

void Jobs::connection_lost() {
  for (auto& [_, held] : held_) {
    if (held.answer != Told::acknowledged) held.answer = Told::not_yet;
    held.outcome = Told::not_yet;
    held.partials.unsaid();
  }
  accepts_.clear();
  refusals_.clear();
  outcomes_.clear();
}

std::vector<AttemptKey> Jobs::hand_back(std::size_t most) {
  std::vector<AttemptKey> keys;
  for (const auto& [_, held] : held_) {
    if (keys.size() < most && held.outcome != Told::said) keys.push_back(held.assignment.attempt);
  }
  for (const auto& key : keys) forget(key.name);
  return keys;
}

void Jobs::drop_all() {
  while (!held_.empty()) forget(held_.begin()->first);
}

Time Jobs::due() const {
  Time due = Time::max();
  for (const auto& [_, held] : held_) due = std::min({due, held.again_at, held.partials.due()});
  return due;
}

void Jobs::wake(Time now) {
  for (auto& [_, held] : held_) {
    held.partials.wake(now);
    upload_next(held, now);
    if (held.again_at > now) continue;
    held.again_at = Time::max();
    switch (held.stage) {
      case Stage::fetching:
        fetch(held);
        break;
      case Stage::delivering:
        deliver(held);
        break;
      case Stage::ended:
        queue_outcome(held);
        break;
      case Stage::assigned:
      case Stage::refused:
      case Stage::running:
      case Stage::settling:
        break;
    }
    queue_answer(held);
  }
}

}  // namespace remotist::volunteer
