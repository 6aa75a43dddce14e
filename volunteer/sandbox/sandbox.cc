// The event loop of a Sandbox and its running guests. The zygote and the spares: sandbox_zygote.cc.
#include "volunteer/sandbox/sandbox.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <format>
#include <fstream>
#include <ranges>
#include <stdexcept>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "core/log.h"
#include "volunteer/sandbox/protection_probe.h"

namespace remotist::volunteer {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Uids for guests that have ended and whose first process has not exited yet.
constexpr std::size_t kExtraUids = 16;
// The interval is random: a guest that knew the time of the next tick could avoid being measured.
constexpr std::int64_t kTickMsMin = 25;
constexpr std::int64_t kTickMsMax = 75;
// How long the death of the zygote is considered as the cause of a guest's unexplained death.
constexpr auto kZygoteDeathDelayMax = milliseconds(500);

}  // namespace

Sandbox::Sandbox(SandboxOptions options)
    : options_(std::move(options)),
      discs_(options_.guests),
      uids_(choose_uids(options_.guests_max + kExtraUids, options_.guests)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)),
      wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      scans_(Clock::now()),
      uids_used_(options_.guests_max + kExtraUids, false) {
  if (!epoll_ || !timer_ || !wake_) throw std::runtime_error("the sandbox has no descriptors left");
  const auto& protections = options_.protections;
  if (const auto problems = missing_protections(protections); !problems.empty())
    throw std::runtime_error(problems);
  if (protections.cgroup) cgroups_ = std::make_unique<Cgroups>();
  if (uids_.range && protections.own_uid &&
      ::chown(options_.guests.c_str(), uids_.zygote, uids_.zygote_group) != 0) {
    throw std::runtime_error("the guests' folder cannot be given to the zygote");
  }
  if (!protections.own_root) ::chmod(options_.guests.c_str(), 0755);
  set_epoll(timer_.get(), Source::timer, 0);
  set_epoll(wake_.get(), Source::wake, 0);
  start_zygote();
}

void Sandbox::set_epoll(int descriptor, Source source, std::uint32_t slot, bool readable) {
  if (descriptor < 0) return;
  epoll_event event{};
  event.events = readable ? EPOLLIN : 0U;
  event.data.u64 = static_cast<std::uint64_t>(source) << 32 | slot;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0 && errno == EEXIST) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, descriptor, &event);
  }
}

std::vector<Event> Sandbox::take_events() {
  std::array<epoll_event, 64> ready_now;
  const int count = ::epoll_wait(epoll_.get(), ready_now.data(), ready_now.size(), 0);
  const auto now = Clock::now();
  for (int i = 0; i < count; ++i) {
    const auto data = ready_now[static_cast<std::size_t>(i)].data.u64;
    handle(static_cast<Source>(data >> 32), static_cast<std::uint32_t>(data), now);
  }
  set_timer();
  return std::exchange(events_, {});
}

void Sandbox::handle(Source source, std::uint32_t number, Time now) {
  std::uint64_t ignored = 0;
  switch (source) {
    case Source::wake:
      if (::read(wake_.get(), &ignored, sizeof ignored) > 0) tick(now);
      return;
    case Source::timer:
      if (::read(timer_.get(), &ignored, sizeof ignored) <= 0) return;
      timer_set_ = false;
      return tick(now);
    case Source::control:
      return read_zygote();
    case Source::zygote:
      if (zygote_ && !zygote_->alive()) on_zygote_death();
      return;
    default:
      break;
  }
  const auto found = slots_.find(number);
  if (found == slots_.end()) return;
  auto* const monitor = found->second.monitor.get();
  if (monitor == nullptr) {
    if (source == Source::pidfd) free_slot(number);
    return;
  }
  if (source == Source::pidfd) monitor->set_ended();
  if (source == Source::socket) monitor->read_messages(events_);
  if (source == Source::output && !monitor->read_output(events_))
    set_epoll(monitor->output(), Source::output, number, false);
  if (source == Source::exit_report) monitor->read_exit_report();
  if (monitor->ended()) resolve_ended(number, now);
}

// When a zygote dies, the kernel kills its guests before the zygote's own pidfd becomes readable. So a guest
// that died without a known cause is reported only after a delay; one whose script had not begun is started
// again on another spare.
void Sandbox::resolve_ended(std::uint32_t number, Time now) {
  auto& slot = slots_.at(number);
  const bool zygote_died = !zygote_ || !zygote_->alive();
  if (!slot.monitor->end_explained() && !zygote_died) {
    if (!slot.unexplained_since) {
      slot.unexplained_since = now;
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, slot.process().pidfd.get(), nullptr);
    }
    if (now - *slot.unexplained_since < kZygoteDeathDelayMax) return;
  }
  if (zygote_died && slot.monitor->can_restart()) {
    auto monitor = std::move(slot.monitor);
    slot.forked = monitor->reset_for_restart();
    waiting_.push_front(std::move(monitor));
    return free_slot(number);
  }
  if (zygote_died && !slot.monitor->end_explained()) slot.monitor->set_zygote_died();
  report_end(number);
  if (slots_.at(number).unexplained_since) free_slot(number);
}

// A guest attaches its file system in its own mount namespace; without one, the folder is an ordinary one.
void Sandbox::make_folder(GuestSpec& spec) {
  if (spec.folder.empty()) {
    if (options_.protections.own_root && options_.protections.disc_limit)
      spec.disc = discs_.make(disc_size(spec));
    spec.folder = (spec.disc ? spec.disc->path() : options_.guests) / spec.name;
  }
  std::filesystem::create_directories(spec.folder / kWorkFolder);
}

void Sandbox::prepare_discs(std::int64_t disc_mb, std::size_t count) {
  GuestSpec spec;
  spec.limits.disc_mb = disc_mb;
  if (options_.protections.own_root && options_.protections.disc_limit)
    discs_.prepare(disc_size(spec), count);
}

void Sandbox::start(GuestSpec spec) {
  const std::string name = spec.name;
  const auto uid_index = unused_uid_index();
  try {
    if (!uid_index) throw std::runtime_error("the sandbox is full");
    if (spec.folder.parent_path() != (spec.disc ? spec.disc->path() : options_.guests)) {
      throw std::runtime_error("a guest's folder must be in the guests' folder");
    }
    waiting_.push_back(
        std::make_unique<GuestMonitor>(std::move(spec), *uid_index, uids_, options_.protections));
    uids_used_[*uid_index] = true;
    start_waiting();
  } catch (const std::exception& error) {
    Ended ended;
    ended.verdict.message = error.what();
    report(name, std::move(ended));
  }
  set_timer();
}

void Sandbox::start_waiting() {
  while (!waiting_.empty() && !spares_.empty()) {
    auto monitor = std::move(waiting_.front());
    waiting_.pop_front();
    start_on_spare(std::move(monitor));
  }
}

void Sandbox::start_on_spare(std::unique_ptr<GuestMonitor> monitor) {
  const auto number = spares_.front();
  spares_.pop_front();
  auto& slot = slots_.at(number);
  slot.uid_index = monitor->uid_index();
  slot.monitor = std::move(monitor);
  try {
    slot.monitor->start(std::move(slot.forked));
  } catch (const std::system_error& error) {
    // Its process is dead or dying; its pidfd leads to the usual report.
    log::warn("guest_not_started", {{"why", error.what()}});
  }
  const auto& forked = slot.monitor->forked();
  set_epoll(forked.socket.get(), Source::socket, number);
  set_epoll(forked.exit_pipe.get(), Source::exit_report, number);
  set_epoll(slot.monitor->output(), Source::output, number);
  --spares_requested_;
  // Forking the next spare would take CPU time from this guest, so it waits unless no spare is left.
  if (spares_.empty()) request_spares();
}

void Sandbox::report_end(std::uint32_t number) {
  auto& slot = slots_.at(number);
  auto ended = slot.monitor->finish(events_);
  report(slot.monitor->spec().name, std::move(ended));
  slot.forked = slot.monitor->release();
  slot.forked.socket.reset();
  slot.forked.exit_pipe.reset();
  slot.monitor.reset();
  slot.reported = true;
  request_spares();
}

void Sandbox::report(std::string name, Ended ended) {
  events_.push_back({std::move(name), std::move(ended)});
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

void Sandbox::free_slot(std::uint32_t number) {
  auto node = slots_.extract(number);
  auto& slot = node.mapped();
  if (slot.reported) {
    uids_used_[slot.uid_index] = false;
  } else {
    if (std::erase(spares_, number) > 0 && spares_requested_ > 0) --spares_requested_;
    if (zygote_ && zygote_ready_ && zygote_->alive()) {
      log::warn("spare_guest_died", {});
      retry_at_ = Clock::now() + kRestartPause;
    }
  }
  if (slot.forked.cgroup && !slot.forked.cgroup->remove())
    unremoved_.push_back(std::move(slot.forked.cgroup));
}

void Sandbox::refuse_waiting(const std::string& reason) {
  for (auto& monitor : std::exchange(waiting_, {})) {
    uids_used_[monitor->uid_index()] = false;
    report(monitor->spec().name, monitor->finish(events_, reason));
  }
}

void Sandbox::tick(Time now) {
  std::vector<std::uint32_t> running;
  for (const auto& [number, slot] : slots_) {
    if (slot.monitor) running.push_back(number);
  }
  bool all_scanned = true;
  for (const auto number : scans_.in_turn(std::move(running))) {
    auto& monitor = *slots_.at(number).monitor;
    if (monitor.ended()) {
      resolve_ended(number, now);
      continue;
    }
    if (!monitor.enforce_limits(events_, scans_) && std::exchange(all_scanned, false))
      scans_.stopped_at(number);
    set_epoll(monitor.output(), Source::output, number);
  }
  if (!retry_at_) request_spares();
  std::erase_if(unremoved_, [](const auto& group) { return group->remove(); });
  if (retry_at_ && now >= *retry_at_) {
    retry_at_.reset();
    if (zygote_) {
      request_spares();
    } else {
      try {
        start_zygote();
      } catch (const std::runtime_error& error) {
        zygote_error_ = error.what();
        schedule_retry(zygote_failure());
      }
    }
  }
}

// The timer runs only while something needs it, so that an idle agent sleeps.
void Sandbox::set_timer() {
  const bool needed = !unremoved_.empty() || retry_at_ || std::ranges::any_of(slots_, [](const auto& slot) {
    return slot.second.monitor != nullptr;
  });
  if (needed == timer_set_) return;
  timer_set_ = needed;
  itimerspec when{};
  if (needed) {
    const milliseconds next{std::uniform_int_distribution{kTickMsMin, kTickMsMax}(random_)};
    when.it_value.tv_nsec = std::chrono::nanoseconds(next).count();
  }
  ::timerfd_settime(timer_.get(), 0, &when, nullptr);
}

void Sandbox::set_frozen(std::string_view name, bool frozen) {
  if (auto* const monitor = find(name)) monitor->set_frozen(frozen);
}

void Sandbox::request_checkpoint(std::string_view name) {
  if (auto* const monitor = find(name)) monitor->request_checkpoint();
}

void Sandbox::request_full_checkpoint(std::string_view name) {
  if (auto* const monitor = find(name)) monitor->request_full_checkpoint();
}

void Sandbox::confirm_checkpoint(std::string_view name, std::uint64_t number) {
  if (auto* const monitor = find(name)) monitor->confirm_checkpoint(number);
}

void Sandbox::stop(std::string_view name) {
  if (auto* const monitor = find(name)) return monitor->stop();
  const auto found =
      std::ranges::find(waiting_, name, [](const auto& monitor) { return monitor->spec().name; });
  if (found == waiting_.end()) return;
  (*found)->stop();
  uids_used_[(*found)->uid_index()] = false;
  report(std::string(name), (*found)->finish(events_));
  waiting_.erase(found);
}

std::optional<std::int64_t> Sandbox::cpu_ms(std::string_view name) const {
  const auto* const monitor = find(name);
  if (monitor == nullptr) return std::nullopt;
  return monitor->cpu_ms();
}

std::string Sandbox::log_so_far(std::string_view name) const {
  const auto* const monitor = find(name);
  return monitor == nullptr ? std::string{} : monitor->log_so_far();
}

pid_t Sandbox::process_of(std::string_view name) const {
  const auto* const monitor = find(name);
  if (monitor == nullptr) return 0;
  const pid_t first = monitor->forked().process;
  std::ifstream children{std::format("/proc/{0}/task/{0}/children", first)};
  pid_t job = 0;
  return children >> job ? job : first;
}

std::vector<std::string> Sandbox::missing() const {
  return std::views::keys(missing_) | std::ranges::to<std::vector>();
}

GuestMonitor* Sandbox::find(std::string_view name) const {
  for (const auto& [number, slot] : slots_) {
    if (slot.monitor && slot.monitor->spec().name == name) return slot.monitor.get();
  }
  return nullptr;
}

std::optional<std::size_t> Sandbox::unused_uid_index() const {
  const auto found = std::ranges::find(uids_used_, false);
  if (found == uids_used_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - uids_used_.begin());
}

}  // namespace remotist::volunteer
