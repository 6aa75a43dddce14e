// The zygote of a Sandbox and the spare guests that it forks.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <format>
#include <fstream>
#include <ranges>
#include <sys/epoll.h>
#include <utility>

#include "core/log.h"
#include "volunteer/sandbox/launch.h"
#include "volunteer/sandbox/sandbox.h"

namespace remotist::volunteer {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kSpares = 2;
constexpr int kRestartDoublings = 6;
constexpr int kFailuresMax = 3;  // in a row, before waiting guests are refused

// The process's pid in this process's namespace, from the kernel's description of the pidfd: the zygote, in
// its own pid namespace, knows another number.
pid_t pid_of(int pidfd) {
  std::ifstream file{std::format("/proc/self/fdinfo/{}", pidfd)};
  for (std::string key; file >> key;) {
    pid_t process = -1;
    if (key == "Pid:" && file >> process) return process;
  }
  return -1;
}

}  // namespace

void Sandbox::start_zygote() {
  retry_at_.reset();
  zygote_ready_ = false;
  spares_requested_ = 0;
  zygote_ = std::make_unique<Zygote>(options_.runner, options_.guests, options_.protections, uids_,
                                     !options_.protections.cgroup || cgroups_->memory());
  set_epoll(zygote_->control(), Source::control, 0);
  set_epoll(zygote_->pidfd(), Source::zygote, 0);
}

void Sandbox::read_zygote() {
  while (zygote_) {
    auto message = receive_fd_message(zygote_->control());
    if (!message) {
      if (errno != EAGAIN) ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, zygote_->control(), nullptr);
      return;
    }
    if (message->text.starts_with(kReady)) {
      zygote_ready_ = true;
      set_missing(std::string_view{message->text}.substr(kReady.size()));
      failures_ = 0;
      request_spares();
    } else if (message->text == kForked) {
      adopt_forked_guest(std::move(*message));
    } else if (message->text.starts_with(kFailed)) {
      zygote_error_ = message->text.substr(kFailed.size());
    }
  }
}

// A protection that an earlier zygote lacked, too, is not logged again.
void Sandbox::set_missing(std::string_view lines) {
  const auto before = std::exchange(missing_, {});
  for (const auto line : std::views::split(lines, '\n')) {
    const std::string_view text{line};
    const auto colon = text.find(": ");
    if (colon == std::string_view::npos) continue;
    const auto& [name, reason] = *missing_.emplace(text.substr(0, colon), text.substr(colon + 2)).first;
    if (!before.contains(name)) log::warn("protection_missing", {{"protection", name}, {"why", reason}});
  }
}

// The guest waits for kProceed, which is sent once its first process is in its cgroup; without it, it exits.
void Sandbox::adopt_forked_guest(FdMessage message) {
  if (message.descriptors.size() != 3) return;
  const auto number = next_slot_++;
  auto& forked = slots_[number].forked;
  forked.pidfd = std::move(message.descriptors[0]);
  forked.socket = std::move(message.descriptors[1]);
  forked.exit_pipe = std::move(message.descriptors[2]);
  forked.process = pid_of(forked.pidfd.get());
  if (cgroups_ && cgroups_->any()) {
    forked.cgroup = cgroups_->make(std::format("guest-{}", number));
    if (!forked.cgroup || !forked.cgroup->add(forked.process)) return discard_forked_guest(number, errno);
  }
  failures_ = 0;
  ::fcntl(forked.exit_pipe.get(), F_SETFL, O_NONBLOCK);
  set_epoll(forked.pidfd.get(), Source::pidfd, number);
  send_fd_message(forked.socket.get(), std::string_view(&kProceed, 1));
  spares_.push_back(number);
  start_waiting();
}

void Sandbox::discard_forked_guest(std::uint32_t number, int error) {
  const auto reason = std::format("a job's cgroup cannot be made or entered: {}", std::strerror(error));
  log::warn("guest_cgroup_failed", {{"why", reason}});
  auto slot = slots_.extract(number);
  if (auto& cgroup = slot.mapped().forked.cgroup; cgroup && !cgroup->remove())
    unremoved_.push_back(std::move(cgroup));
  if (spares_requested_ > 0) --spares_requested_;
  schedule_retry("The sandbox could not be set up: " + reason);
}

void Sandbox::schedule_retry(const std::string& reason) {
  ++failures_;
  retry_at_ = Clock::now() + kRestartPause * (1 << std::min(failures_, kRestartDoublings));
  if (failures_ >= kFailuresMax) refuse_waiting(reason);
}

void Sandbox::request_spares() {
  if (!zygote_ || !zygote_ready_) return;
  for (; spares_requested_ < kSpares; ++spares_requested_) zygote_->request_fork();
}

void Sandbox::on_zygote_death() {
  log::warn("zygote_died", {{"why", zygote_error_.empty() ? "no error was reported" : zygote_error_}});
  const bool was_ready = zygote_ready_;
  zygote_.reset();
  zygote_ready_ = false;
  spares_requested_ = 0;
  std::vector<std::uint32_t> ended;
  for (const auto& [number, slot] : slots_) {
    if (slot.monitor && slot.monitor->ended()) ended.push_back(number);
  }
  for (const auto number : ended) resolve_ended(number, Clock::now());
  if (!was_ready) return schedule_retry(zygote_failure());
  failures_ = 0;
  retry_at_ = Clock::now() + kRestartPause;
}

std::string Sandbox::zygote_failure() const {
  return "R could not be started: " + (zygote_error_.empty() ? "the runner dies at once" : zygote_error_);
}

}  // namespace remotist::volunteer
