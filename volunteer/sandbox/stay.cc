#include "volunteer/sandbox/stay.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <format>
#include <iterator>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "core/limits.h"
#include "core/log.h"
#include "volunteer/sandbox/job_disc.h"
#include "volunteer/sandbox/order.h"
#include "volunteer/sandbox/parcel.h"
#include "volunteer/sandbox/partial_file.h"
#include "volunteer/sandbox/rlimits.h"

namespace remotist::volunteer {

namespace {

using Clock = std::chrono::steady_clock;

// What an honest guest never reaches: the runner sends at most twenty frames a second, and for watched
// variables what limits.h gives them; twice as much, because the host may have been away for a while.
constexpr double kFramesPerSecond = 500;
constexpr double kFramesBurst = 5'000;
constexpr double kFrameBytesPerSecond = 1 << 20;
constexpr double kFrameBytesBurst = 4 << 20;
constexpr double kWatchedHeadBytes = 300;

double frames_per_second(const GuestSpec& spec) {
  return kFramesPerSecond + 2 * limits::kWatchedRecordsPerSecond * static_cast<double>(spec.watched.size());
}
double frames_burst(const GuestSpec& spec) {
  return kFramesBurst + 4 * limits::kWatchedRecordsBurst * static_cast<double>(spec.watched.size());
}
double frame_bytes_per_second(const GuestSpec& spec) {
  if (spec.watched.empty()) return kFrameBytesPerSecond;
  return 2 * limits::kWatchedBytesPerSecond + kWatchedHeadBytes * frames_per_second(spec);
}
double frame_bytes_burst(const GuestSpec& spec) {
  if (spec.watched.empty()) return kFrameBytesBurst;
  const auto last = static_cast<double>(spec.watched.size() * limits::kWatchedInlineBytesMax);
  return 4 * limits::kWatchedBytesBurst + last + kWatchedHeadBytes * frames_burst(spec);
}
// One that was on its way, one in debt, and at the end all that fits its memory once more.
double value_bytes_burst(const GuestSpec& spec) {
  return 2 * static_cast<double>(limits::kWatchedFileBytesMax) +
         static_cast<double>(spec.limits.ram_mb << 20);
}
// What the house passes on; the newest of what comes in between follows later.
constexpr double kProgressPerSecond = 10;
constexpr double kProgressBurst = 20;
// Beyond this the pipe stays full and the job waits.
constexpr double kOutputPerSecond = 32 << 20;
constexpr double kOutputBurst = 8 << 20;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

std::int64_t us_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration_cast<std::chrono::microseconds>(to - from).count();
}

}  // namespace

Stay::Stay(GuestSpec spec, std::size_t slot, const Uids& uids, const Layers& layers)
    : spec_(std::move(spec)),
      slot_(slot),
      uids_(uids),
      layers_(layers),
      log_(spec_.limits.output_bytes_max),
      frame_budget_(frames_per_second(spec_), frames_burst(spec_), Clock::now()),
      byte_budget_(frame_bytes_per_second(spec_), frame_bytes_burst(spec_), Clock::now()),
      progress_budget_(kProgressPerSecond, kProgressBurst, Clock::now()),
      output_budget_(kOutputPerSecond, kOutputBurst, Clock::now()),
      value_budget_(2 * limits::kWatchedBytesPerSecond, value_bytes_burst(spec_), Clock::now()),
      records_(spec_.watched.size()),
      memory_look_(static_cast<std::size_t>(spec_.limits.locks_max)),
      started_(Clock::now()) {
  prepare_folder();
  steps_.prepared_us = us_between(started_, Clock::now());
}

void Stay::prepare_folder() {
  folder_ = Descriptor{open_folder(spec_.folder)};
  for (const char* name : {kOutFolder, kTmpFolder}) {
    if (::mkdirat(folder_.get(), name, 0755) != 0 && errno != EEXIST)
      fail("a guest's folder cannot be laid out");
  }
  if (uids_.range && layers_.own_uid) {
    const uid_t uid = uids_.outside(slot_);
    const gid_t gid = uids_.zygote_group + 1 + static_cast<gid_t>(slot_);
    give_folder(spec_.folder / kWorkFolder, uid, gid);
    give_folder(spec_.folder / kOutFolder, uid, gid);
    give_folder(spec_.folder / kTmpFolder, uid, gid);
    if (::fchown(folder_.get(), uids_.zygote, uids_.zygote_group) != 0)
      fail("a guest's folder cannot be given away");
  }
  if (!layers_.own_root) ::fchmod(folder_.get(), 0755);
  if (spec_.disc) reserve_log();
  before_ = state_of(spec_.folder / kWorkFolder);
}

// A job that fills its disc leaves a log all the same.
void Stay::reserve_log() const {
  const Descriptor file{::openat(folder_.get(), kLogFile, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644)};
  if (!file || ::fallocate(file.get(), FALLOC_FL_KEEP_SIZE, 0, log_bytes_max(spec_.limits)) != 0)
    fail("a guest's log has no room");
}

void Stay::enter(Lodging lodging) {
  lodging_ = std::move(lodging);
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) fail("no pipe for a guest");
  output_ = Descriptor{pipe[0]};
  const Descriptor theirs{pipe[1]};
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  if (lodging_.cgroup) {
    if (!lodging_.cgroup->limit(spec_.limits)) {
      return refuse(std::format("the limits of the job's cgroup cannot be set: {}", std::strerror(errno)));
    }
    cpu_ms_before_ = lodging_.cgroup->cpu_us().value_or(0) / 1000;
  }
  const GuestOrder order{.folder = spec_.folder.filename(),
                         .own_disc = spec_.disc != nullptr,
                         .exec_file = spec_.exec_file,
                         .uid = uids_.range ? uids_.inside(slot_) : kGuestUid,
                         .limits = spec_.limits,
                         .watched = spec_.watched,
                         .resumable = spec_.resumable,
                         .checkpoint_every_ms = spec_.checkpoint_every_ms};
  std::vector<int> descriptors{theirs.get()};
  Descriptor disc;
  if (spec_.disc) {
    // The guest is alive and would wait for ever for what cannot be sent.
    try {
      disc = spec_.disc->for_guest();
    } catch (const std::system_error& error) {
      return refuse(error.what());
    }
    descriptors.push_back(disc.get());
  }
  Descriptor checkpoint;
  if (!spec_.resume_from.empty()) {
    checkpoint = Descriptor{::open(spec_.resume_from.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)};
    if (!checkpoint) fail("the checkpoint of a guest cannot be opened");
    descriptors.push_back(checkpoint.get());
  }
  if (!send_parcel(lodging_.socket.get(), text_of(order), descriptors)) fail("a guest does not listen");
  const auto now = Clock::now();
  tree_clock_.start(now);
  next_look_ = now + kLookEvery;
  next_weighing_ = now + kWeighEvery;
  steps_.ordered_us = us_between(started_, now);
}

void Stay::refuse(const std::string& words) {
  evidence_.refused = "The sandbox could not be set up: " + words;
  kill();
}

void Stay::hear(std::vector<Event>& events) {
  std::array<char, 64 << 10> buffer;
  const ssize_t got = ::recv(lodging_.socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got == 0) lodging_.socket.reset();  // it closed its end, and has nothing more to say
  if (got <= 0) return;
  const auto now = Clock::now();
  frames_.feed({buffer.data(), static_cast<std::size_t>(got)});
  byte_budget_.charge(static_cast<double>(got), now);
  while (auto frame = frames_.next()) {
    frame_budget_.charge(1, now);
    if (const auto word = word_in(frame->head)) take_word(*word, std::move(frame->body), events);
  }
  if (layers_.frame_budget && (frame_budget_.in_debt(now) || byte_budget_.in_debt(now) ||
                               value_budget_.in_debt(now) || frames_.broken())) {
    end_at_limit("frames", "The job flooded its host with messages.");
  }
}

void Stay::take_word(const Word& word, std::string body, std::vector<Event>& events) {
  if (std::holds_alternative<Began>(word)) {
    if (!evidence_.began) steps_.began_us = us_between(started_, Clock::now());
    evidence_.began = true;
  } else if (const auto* refused = std::get_if<Refused>(&word)) {
    if (!evidence_.began) evidence_.refused = refused->message;
  } else if (!evidence_.began || evidence_.last_word) {
    return;  // after its last word a guest has nothing to say
  } else if (const auto* progress = std::get_if<Progressed>(&word)) {
    if (!layers_.frame_budget || progress_budget_.take(1, Clock::now())) {
      held_progress_.reset();
      events.push_back({spec_.name, Progress{progress->fraction, progress->message}});
    } else {
      held_progress_ = Progress{progress->fraction, progress->message};
    }
  } else if (const auto* changed = std::get_if<Changed>(&word)) {
    take_change(*changed, std::move(body), events);
  } else if (std::holds_alternative<Checkpointed>(word)) {
    take_checkpoint(events);
  } else {
    evidence_.last_word = word;
    steps_.told_us = us_between(started_, Clock::now());
  }
}

// Of a variable that nobody watches, out of turn, or without the value that it should have: no word at all.
void Stay::take_change(const Changed& word, std::string body, std::vector<Event>& events) {
  if (word.variable >= records_.size() || word.number != records_[word.variable] + 1) return;
  const bool has_body = word.kind == Changed::Kind::value && word.file.empty();
  if (has_body == body.empty() || body.size() > limits::kWatchedInlineBytesMax) return;
  if (!word.file.empty()) {
    const auto bytes = weigh_partial_file(folder_.get(), word.file);
    if (!bytes) return;
    value_budget_.charge(static_cast<double>(*bytes), Clock::now());
  }
  records_[word.variable] = word.number;
  events.push_back({spec_.name, PartialValue{word.variable, word.number, word.changes, word.at_us,
                                             static_cast<PartialValue::Kind>(word.kind), std::move(body),
                                             word.file, word.words}});
}

// Out of the guest's reach; what it put there instead of a file is deleted.
void Stay::take_checkpoint(std::vector<Event>& events) {
  if (!spec_.resumable) return;
  const auto theirs = std::format("{}/{}", kOutFolder, kCheckpointFile);
  if (::renameat(folder_.get(), theirs.c_str(), folder_.get(), kCheckpointFile) != 0) return;
  struct stat state{};
  if (::fstatat(folder_.get(), kCheckpointFile, &state, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(state.st_mode) &&
      state.st_nlink == 1) {
    events.push_back({spec_.name, CheckpointTaken{state.st_size}});
  } else {
    ::unlinkat(folder_.get(), kCheckpointFile, 0);
  }
}

void Stay::ask_checkpoint() {
  if (spec_.resumable && evidence_.began && lodging_.socket) {
    // One that cannot be sent, because the guest does not read, would not be taken either.
    [[maybe_unused]] const auto sent =
        ::send(lodging_.socket.get(), &kTakeCheckpoint, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
}

bool Stay::listen() {
  std::array<char, 64 << 10> buffer;
  const auto now = Clock::now();
  if (output_budget_.in_debt(now)) return false;
  const ssize_t got = ::read(output_.get(), buffer.data(), buffer.size());
  if (got == 0) output_.reset();
  if (got <= 0) return true;
  log_.add({buffer.data(), static_cast<std::size_t>(got)});
  output_budget_.charge(static_cast<double>(got), now);
  return true;
}

void Stay::farewell() {
  Farewell farewell{};
  const ssize_t got = ::read(lodging_.farewell.get(), &farewell, sizeof farewell);
  if (got == sizeof farewell) {
    evidence_.wait_status = farewell.wait_status;
    cpu_ms_seen_ = std::max(cpu_ms_seen_, farewell.cpu_us / 1000);
    if (!lodging_.cgroup || !lodging_.cgroup->ram_kb_peak()) {
      ram_kb_peak_ = std::max(ram_kb_peak_, farewell.rss_kb_peak);
    }
    steps_.exited_us = us_between(started_, Clock::now());
    over_ = true;
  } else if (got == 0) {
    lodging_.farewell.reset();  // killed: its pidfd tells when all are gone
  }
}

bool Stay::watch(std::vector<Event>& events, LookBudget& looks) {
  const auto now = Clock::now();
  if (held_progress_ && progress_budget_.take(1, now)) {
    events.push_back({spec_.name, *held_progress_});
    held_progress_.reset();
  }
  if (counted_by_cgroup()) count_cpu();  // costs nothing
  const bool all = watch_limits(looks);
  if (layers_.rlimits && spec_.limits.cpu_ms_max && cpu_ms_seen_ > *spec_.limits.cpu_ms_max) {
    end_at_limit("cpu", std::format("The job used more than {} ms of CPU time.", *spec_.limits.cpu_ms_max));
  }
  return all;
}

bool Stay::explained() const {
  return evidence_.wait_status || evidence_.stopped || !evidence_.limit.empty() || evidence_.refused;
}

bool Stay::untouched() {
  drain();
  return !evidence_.began && !explained();
}

Lodging Stay::step_back() {
  auto lodging = std::move(lodging_);
  lodging_ = {};
  output_.reset();
  frames_ = {};
  over_ = false;
  return lodging;
}

void Stay::stop() {
  evidence_.stopped = true;
  kill();
}

void Stay::end_at_limit(const char* limit, std::string words) {
  if (!evidence_.limit.empty() || evidence_.stopped) return;
  evidence_.limit = limit;
  evidence_.limit_words = std::move(words);
  kill();
}

void Stay::kill() {
  if (!inside()) return;
  count_cpu();  // afterwards there is nothing left to look at
  if (lodging_.pidfd) ::syscall(SYS_pidfd_send_signal, lodging_.pidfd.get(), SIGKILL, nullptr, 0);
}

// What is still in the pipes. Nobody writes to them any more, so this comes to an end.
void Stay::drain() {
  std::array<char, 64 << 10> buffer;
  ssize_t got = 0;
  while (lodging_.socket &&
         (got = ::recv(lodging_.socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0) {
    frames_.feed({buffer.data(), static_cast<std::size_t>(got)});
    while (auto frame = frames_.next()) {
      if (const auto word = word_in(frame->head)) take_word(*word, std::move(frame->body), late_);
    }
  }
  while (output_ && (got = ::read(output_.get(), buffer.data(), buffer.size())) > 0) {
    log_.add({buffer.data(), static_cast<std::size_t>(got)});
  }
}

Ended Stay::end(std::vector<Event>& events, const std::string& never_entered) {
  if (!never_entered.empty()) evidence_.refused = never_entered;
  drain();
  std::ranges::move(late_, std::back_inserter(events));
  late_.clear();
  if (lodging_.cgroup) {
    evidence_.out_of_memory = lodging_.cgroup->out_of_memory();
    count_cpu();
    if (const auto kb = lodging_.cgroup->ram_kb_peak()) ram_kb_peak_ = std::max(ram_kb_peak_, *kb);
  }
  if (spec_.disc) {
    if (evidence_.full.empty()) look_at_disc();
    note_refused_write();
  }
  evidence_.result_there = keep_if_file(kResultFile);
  keep_if_file(kErrorFile);
  auto verdict = judge(evidence_);
  if (inside()) {
    try {
      auto made = made_since(before_, spec_.folder / kWorkFolder, disc_bytes_fatal(spec_.limits));
      verdict.made = std::move(made.paths);
      for (const auto& words : made.renamed) log_.add(std::format("[{}]\n", words));
      for (const auto& words : made.left_out) log_.add(std::format("[not among the results: {}]\n", words));
    } catch (const std::system_error& error) {
      log_.add(std::format("[the job's folder cannot be read: {}]\n", error.code().message()));
    }
  }
  write_log();
  verdict.cpu_ms = cpu_ms_seen_;
  verdict.wall_ms = us_between(started_, Clock::now()) / 1000;
  verdict.ram_kb_peak = ram_kb_peak_;
  steps_.ended_us = us_between(started_, Clock::now());
  return {std::move(verdict), steps_};
}

// A guest can put there what it likes, a link to somewhere else too, and whoever reads it later may be root.
bool Stay::keep_if_file(const char* name) const {
  const auto path = std::format("{}/{}", kOutFolder, name);
  struct stat state{};
  if (::fstatat(folder_.get(), path.c_str(), &state, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (S_ISREG(state.st_mode) && state.st_nlink == 1) return true;
  if (::unlinkat(folder_.get(), path.c_str(), 0) != 0) ::unlinkat(folder_.get(), path.c_str(), AT_REMOVEDIR);
  return false;
}

void Stay::write_log() const {
  const Descriptor file{::openat(folder_.get(), kLogFile, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644)};
  const auto text = log_.text();
  std::string_view left = text;
  while (file && !left.empty()) {
    const ssize_t written = ::write(file.get(), left.data(), left.size());
    if (written <= 0) break;
    left.remove_prefix(static_cast<std::size_t>(written));
  }
  if (file && ::ftruncate(file.get(), static_cast<off_t>(text.size() - left.size())) != 0)
    log::warn("log_not_cut", {{"guest", spec_.name}});
}

}  // namespace remotist::volunteer
