#include "volunteer/sandbox/guest_monitor.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <format>
#include <iterator>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "core/limits.h"
#include "core/log.h"
#include "volunteer/sandbox/fail.h"
#include "volunteer/sandbox/fd_message.h"
#include "volunteer/sandbox/freezer.h"
#include "volunteer/sandbox/job_disc.h"
#include "volunteer/sandbox/launch.h"
#include "volunteer/sandbox/rlimits.h"
#include "volunteer/sandbox/watched_file.h"

namespace remotist::volunteer {

namespace {

using Clock = std::chrono::steady_clock;

// Budgets that an honest guest never reaches: the runner sends at most twenty frames a second, and for
// watched variables what core/limits.h allows. Doubled, because the host may not have read for a while.
constexpr double kFramesPerSecond = 500;
constexpr double kFramesBurst = 5'000;
constexpr double kFrameBytesPerSecond = 1 << 20;
constexpr double kFrameBytesBurst = 4 << 20;
constexpr double kWatchedHeadBytes = 300;

double frames_per_second(const GuestSpec& spec) {
  return kFramesPerSecond +
         2 * limits::kWatchedRecordsPerSecond * static_cast<double>(spec.watched_variables.size());
}
double frames_burst(const GuestSpec& spec) {
  return kFramesBurst + 4 * limits::kWatchedRecordsBurst * static_cast<double>(spec.watched_variables.size());
}
double frame_bytes_per_second(const GuestSpec& spec) {
  if (spec.watched_variables.empty()) return kFrameBytesPerSecond;
  return 2 * limits::kWatchedBytesPerSecond + kWatchedHeadBytes * frames_per_second(spec);
}
double frame_bytes_burst(const GuestSpec& spec) {
  if (spec.watched_variables.empty()) return kFrameBytesBurst;
  const auto last = static_cast<double>(spec.watched_variables.size() * limits::kWatchedInlineBytesMax);
  return 4 * limits::kWatchedBytesBurst + last + kWatchedHeadBytes * frames_burst(spec);
}
// Whether every change of a file on the folder's file system shows in its times. In memory (tmpfs) writes
// through a mapping do not set them, and a network's or an overlay's times are somebody else's.
bool has_exact_times(int folder) {
  struct statfs state{};
  if (::fstatfs(folder, &state) != 0) return false;
  return state.f_type == EXT4_SUPER_MAGIC || state.f_type == XFS_SUPER_MAGIC ||
         state.f_type == BTRFS_SUPER_MAGIC;
}
std::string random_marker() {
  std::string marker(kOutputMarkerBytes, '\0');
  if (::getrandom(marker.data(), marker.size(), 0) != static_cast<ssize_t>(marker.size()))
    fail("no random bytes for a guest");
  return marker;
}
// One value in transit, one above the budget, and at the end once more everything that fits the memory.
double value_bytes_burst(const GuestSpec& spec) {
  return 2 * static_cast<double>(limits::kWatchedFileBytesMax) +
         static_cast<double>(spec.limits.ram_mb << 20);
}
// Progress events that are passed on; of those in between, the newest follows later.
constexpr double kProgressPerSecond = 10;
constexpr double kProgressBurst = 20;
// The runner sends at most one a second.
constexpr double kRefusalsPerSecond = 1;
constexpr double kRefusalsBurst = 2;
// Beyond this budget the pipe stays full and the job's writes block.
constexpr double kOutputPerSecond = 32 << 20;
constexpr double kOutputBurst = 8 << 20;

std::int64_t us_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration_cast<std::chrono::microseconds>(to - from).count();
}

}  // namespace

GuestMonitor::GuestMonitor(GuestSpec spec, std::size_t uid_index, const Uids& uids,
                           const Protections& protections)
    : spec_(std::move(spec)),
      uid_index_(uid_index),
      uids_(uids),
      protections_(protections),
      log_(spec_.resume_from ? OutputLog{spec_.limits.output_bytes_max, spec_.resume_from->log,
                                         spec_.resume_from->log_left_out}
                             : OutputLog{spec_.limits.output_bytes_max}),
      frame_budget_(frames_per_second(spec_), frames_burst(spec_), Clock::now()),
      byte_budget_(frame_bytes_per_second(spec_), frame_bytes_burst(spec_), Clock::now()),
      progress_budget_(kProgressPerSecond, kProgressBurst, Clock::now()),
      output_budget_(kOutputPerSecond, kOutputBurst, Clock::now()),
      value_budget_(2 * limits::kWatchedBytesPerSecond, value_bytes_burst(spec_), Clock::now()),
      records_(spec_.watched_variables.size()),
      output_markers_(""),
      checkpoint_marks_(spec_.watched_variables.size(), Clock::now()),
      refusal_budget_(kRefusalsPerSecond, kRefusalsBurst, Clock::now()),
      memory_scan_(static_cast<std::size_t>(spec_.limits.locks_max)),
      started_(Clock::now()) {
  prepare_folder();
  steps_.prepared_us = us_between(started_, Clock::now());
}

void GuestMonitor::prepare_folder() {
  folder_ = Descriptor{open_folder(spec_.folder)};
  for (const char* name : {kOutFolder, kTmpFolder}) {
    if (::mkdirat(folder_.get(), name, 0755) != 0 && errno != EEXIST)
      fail("the folders of a guest cannot be made");
  }
  if (uids_.range && protections_.own_uid) {
    const uid_t uid = uids_.host_uid(uid_index_);
    const gid_t gid = uids_.zygote_group + 1 + static_cast<gid_t>(uid_index_);
    give_folder(spec_.folder / kWorkFolder, uid, gid);
    give_folder(spec_.folder / kOutFolder, uid, gid);
    give_folder(spec_.folder / kTmpFolder, uid, gid);
    if (::fchown(folder_.get(), uids_.zygote, uids_.zygote_group) != 0)
      fail("a guest's folder cannot be given away");
  }
  if (!protections_.own_root) ::fchmod(folder_.get(), 0755);
  if (spec_.disc) reserve_log();
  before_ = state_of(spec_.folder / kWorkFolder);
}

// Reserves the blocks of the log, so that it can be written when the job has filled its disc.
void GuestMonitor::reserve_log() const {
  const Descriptor file{::openat(folder_.get(), kLogFile, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644)};
  if (!file || ::fallocate(file.get(), FALLOC_FL_KEEP_SIZE, 0, log_bytes_max(spec_.limits)) != 0)
    fail("there is no space for a guest's log");
}

void GuestMonitor::start(ForkedGuest forked) {
  forked_ = std::move(forked);
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) fail("no pipe for a guest");
  output_ = Descriptor{pipe[0]};
  const Descriptor theirs{pipe[1]};
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  if (forked_.cgroup) {
    if (!forked_.cgroup->limit(spec_.limits)) {
      return refuse(std::format("the limits of the job's cgroup cannot be set: {}", std::strerror(errno)));
    }
    cpu_ms_before_ = forked_.cgroup->cpu_us().value_or(0) / 1000;
  }
  const auto marker = spec_.resumable ? random_marker() : std::string{};
  output_markers_ = OutputMarkers{marker};
  GuestConfig config{.folder = spec_.folder.filename(),
                     .own_disc = spec_.disc != nullptr,
                     .exec_file = spec_.exec_file,
                     .uid = uids_.range ? uids_.guest_uid(uid_index_) : kGuestUid,
                     .limits = spec_.limits,
                     .watched_variables = spec_.watched_variables,
                     .resumable = spec_.resumable,
                     .checkpoint_every_ms = spec_.checkpoint_every_ms,
                     .output_marker = marker,
                     .exact_times = has_exact_times(folder_.get()),
                     .resumes = spec_.resume_from.has_value()};
  if (spec_.resume_from) config.watched = spec_.resume_from->watched;
  evidence_.resuming = config.resumes;
  std::vector<int> descriptors{theirs.get()};
  Descriptor disc;
  if (spec_.disc) {
    // Not thrown: the process is alive and would wait for its GuestConfig for ever.
    try {
      disc = spec_.disc->for_guest();
    } catch (const std::system_error& error) {
      return refuse(error.what());
    }
    descriptors.push_back(disc.get());
  }
  Descriptor checkpoint;
  if (spec_.resume_from) {
    checkpoint = Descriptor{::open(spec_.resume_from->file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC)};
    if (!checkpoint) {
      evidence_.resume_failure = std::format("the checkpoint cannot be opened: {}", std::strerror(errno));
      return kill();
    }
    descriptors.push_back(checkpoint.get());
  }
  if (!send_fd_message(forked_.socket.get(), encode(config), descriptors))
    fail("the configuration of a guest cannot be sent");
  const auto now = Clock::now();
  cpu_sampler_.start(now);
  next_memory_scan_ = now + kMemoryEvery;
  next_disc_check_ = now + kDiscEvery;
  steps_.configured_us = us_between(started_, now);
}

void GuestMonitor::refuse(const std::string& reason) {
  evidence_.refused = "The sandbox could not be set up: " + reason;
  kill();
}

void GuestMonitor::read_messages(std::vector<Event>& events) {
  std::array<char, 64 << 10> buffer;
  const ssize_t got = ::recv(forked_.socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got == 0) forked_.socket.reset();  // the guest closed its end
  if (got <= 0) return;
  const auto now = Clock::now();
  frames_.feed({buffer.data(), static_cast<std::size_t>(got)});
  byte_budget_.charge(static_cast<double>(got), now);
  while (auto frame = frames_.next()) {
    frame_budget_.charge(1, now);
    if (auto message = parse_guest_message(frame->head))
      handle(std::move(*message), std::move(frame->body), events);
  }
  if (protections_.frame_budget && (frame_budget_.in_debt(now) || byte_budget_.in_debt(now) ||
                                    value_budget_.in_debt(now) || frames_.broken())) {
    end_at_limit(Limit::frames, "The job flooded its host with messages.");
  }
}

void GuestMonitor::handle(GuestMessage message, std::string body, std::vector<Event>& events) {
  if (std::holds_alternative<Began>(message)) {
    if (!std::exchange(evidence_.began, true)) {
      steps_.began_us = us_between(started_, Clock::now());
      send_held_request();
    }
  } else if (const auto* refused = std::get_if<Refused>(&message)) {
    if (!evidence_.began) evidence_.refused = refused->message;
  } else if (!evidence_.began || evidence_.final_message) {
    return;  // nothing counts before Began or after the final message
  } else if (const auto* progress = std::get_if<Progressed>(&message)) {
    newest_progress_ = Progress{progress->fraction, progress->message};
    if (!protections_.frame_budget || progress_budget_.try_take(1, Clock::now())) {
      held_progress_.reset();
      events.push_back({spec_.name, *newest_progress_});
    } else {
      held_progress_ = newest_progress_;
    }
  } else if (auto* record = std::get_if<GuestRecord>(&message)) {
    handle_record(std::move(*record), std::move(body), events);
  } else if (!std::holds_alternative<Completed>(message) && !std::holds_alternative<Failed>(message)) {
    handle_checkpoint(std::move(message), events);
  } else {
    evidence_.final_message = std::move(message);
    steps_.final_message_us = us_between(started_, Clock::now());
  }
}

// Ignores a record of an unknown variable, with a number out of sequence, or without the value that its kind
// requires.
void GuestMonitor::handle_record(GuestRecord given, std::string body, std::vector<Event>& events) {
  if (given.variable >= records_.size() || given.record.number != records_[given.variable] + 1) return;
  const bool has_body = given.record.kind == WatchedKind::value && given.file.empty();
  if (has_body == body.empty() || body.size() > limits::kWatchedInlineBytesMax) return;
  if (!given.file.empty()) {
    const auto bytes = watched_file_size(folder_.get(), given.file);
    if (!bytes) return;
    value_budget_.charge(static_cast<double>(*bytes), Clock::now());
  }
  records_[given.variable] = given.record.number;
  given.record.bytes = std::move(body);
  events.push_back({spec_.name, std::move(given)});
}

void GuestMonitor::set_frozen(bool frozen) {
  if (has_process()) remotist::volunteer::set_frozen(forked_.process, forked_.cgroup.get(), frozen);
}

bool GuestMonitor::read_output(std::vector<Event>& events) {
  std::array<char, 64 << 10> buffer;
  const auto now = Clock::now();
  if (output_budget_.in_debt(now)) return false;
  const ssize_t got = ::read(output_.get(), buffer.data(), buffer.size());
  if (got == 0) output_.reset();
  if (got <= 0) return true;
  add_output({buffer.data(), static_cast<std::size_t>(got)}, events);
  output_budget_.charge(static_cast<double>(got), now);
  return true;
}

void GuestMonitor::read_exit_report() {
  ExitReport report{};
  const ssize_t got = ::read(forked_.exit_pipe.get(), &report, sizeof report);
  if (got == sizeof report) {
    evidence_.wait_status = report.wait_status;
    cpu_ms_seen_ = std::max(cpu_ms_seen_, report.cpu_us / 1000);
    if (!forked_.cgroup || !forked_.cgroup->ram_kb_peak()) {
      ram_kb_peak_ = std::max(ram_kb_peak_, report.rss_kb_peak);
    }
    steps_.exited_us = us_between(started_, Clock::now());
    ended_ = true;
  } else if (got == 0) {
    forked_.exit_pipe.reset();  // killed: the pidfd becomes readable when all processes are gone
  }
}

bool GuestMonitor::enforce_limits(std::vector<Event>& events, ScanBudget& scans) {
  const auto now = Clock::now();
  if (held_progress_ && progress_budget_.try_take(1, now)) {
    events.push_back({spec_.name, *held_progress_});
    held_progress_.reset();
  }
  if (cgroup_counts_cpu()) read_cpu_time();  // one small file
  const bool all = scan(scans);
  if (protections_.rlimits && spec_.limits.cpu_ms_max && cpu_ms_seen_ > *spec_.limits.cpu_ms_max) {
    end_at_limit(Limit::cpu,
                 std::format("The job used more than {} ms of CPU time.", *spec_.limits.cpu_ms_max));
  }
  return all;
}

bool GuestMonitor::end_explained() const {
  return evidence_.wait_status || evidence_.stopped || evidence_.limit || evidence_.refused;
}

bool GuestMonitor::can_restart() {
  read_remaining();
  return !evidence_.began && !end_explained();
}

ForkedGuest GuestMonitor::reset_for_restart() {
  auto forked = std::move(forked_);
  forked_ = {};
  output_.reset();
  frames_ = {};
  output_markers_ = OutputMarkers{""};
  ended_ = false;
  return forked;
}

void GuestMonitor::stop() {
  evidence_.stopped = true;
  kill();
}

void GuestMonitor::end_at_limit(Limit limit, std::string message) {
  if (evidence_.limit || evidence_.stopped) return;
  evidence_.limit = limit;
  evidence_.limit_message = std::move(message);
  kill();
}

void GuestMonitor::kill() {
  if (!has_process()) return;
  read_cpu_time();  // not readable afterwards
  if (forked_.pidfd) ::syscall(SYS_pidfd_send_signal, forked_.pidfd.get(), SIGKILL, nullptr, 0);
}

// Reads what is left in the socket and the pipe. No process can write to them any more, so this terminates.
void GuestMonitor::read_remaining() {
  std::array<char, 64 << 10> buffer;
  ssize_t got = 0;
  while (forked_.socket &&
         (got = ::recv(forked_.socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0) {
    frames_.feed({buffer.data(), static_cast<std::size_t>(got)});
    while (auto frame = frames_.next()) {
      if (auto message = parse_guest_message(frame->head))
        handle(std::move(*message), std::move(frame->body), late_events_);
    }
  }
  while (output_ && (got = ::read(output_.get(), buffer.data(), buffer.size())) > 0) {
    add_output({buffer.data(), static_cast<std::size_t>(got)}, late_events_);
  }
}

Ended GuestMonitor::finish(std::vector<Event>& events, const std::string& not_started) {
  if (!not_started.empty()) evidence_.refused = not_started;
  read_remaining();
  log_.add(output_markers_.take_rest());
  checkpoint_marks_.abandon();
  report_checkpoints(late_events_);
  std::ranges::move(late_events_, std::back_inserter(events));
  late_events_.clear();
  if (forked_.cgroup) {
    evidence_.out_of_memory = forked_.cgroup->out_of_memory();
    read_cpu_time();
    if (const auto kb = forked_.cgroup->ram_kb_peak()) ram_kb_peak_ = std::max(ram_kb_peak_, *kb);
  }
  if (spec_.disc) {
    if (!evidence_.full) read_disc_state();
    note_refused_write();
  }
  evidence_.result_exists = keep_if_file(kResultFile);
  keep_if_file(kErrorFile);
  auto verdict = judge(evidence_);
  if (has_process()) {
    try {
      auto made = made_since(before_, spec_.folder / kWorkFolder, disc_bytes_fatal(spec_.limits));
      verdict.made = std::move(made.paths);
      for (const auto& note : made.renamed) log_.add(std::format("[{}]\n", note));
      for (const auto& note : made.left_out) log_.add(std::format("[not among the results: {}]\n", note));
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

// Whether the file exists. Deletes anything but a regular file with one link: the guest controls the folder,
// and the process that reads the file may be root.
bool GuestMonitor::keep_if_file(const char* name) const {
  const auto path = std::format("{}/{}", kOutFolder, name);
  struct stat state{};
  if (::fstatat(folder_.get(), path.c_str(), &state, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (S_ISREG(state.st_mode) && state.st_nlink == 1) return true;
  if (::unlinkat(folder_.get(), path.c_str(), 0) != 0) ::unlinkat(folder_.get(), path.c_str(), AT_REMOVEDIR);
  return false;
}

void GuestMonitor::write_log() const {
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
