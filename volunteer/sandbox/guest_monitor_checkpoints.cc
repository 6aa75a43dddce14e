// What a GuestMonitor does for checkpoints and for resumed guests.
#include <array>
#include <cstring>
#include <fcntl.h>
#include <format>
#include <sys/socket.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "volunteer/sandbox/guest_monitor.h"
#include "volunteer/sandbox/launch.h"

namespace remotist::volunteer {

using Clock = std::chrono::steady_clock;

void GuestMonitor::handle_checkpoint(GuestMessage message, std::vector<Event>& events) {
  const auto now = Clock::now();
  if (std::holds_alternative<Resumed>(message)) {
    if (evidence_.resuming && !std::exchange(evidence_.resumed, true))
      events.push_back({spec_.name, Resumed{}});
  } else if (auto* failed = std::get_if<ResumeFailed>(&message)) {
    if (!evidence_.resume_failure) evidence_.resume_failure = std::move(failed->reason);
  } else if (!spec_.resumable) {
    return;
  } else if (auto* not_resumable = std::get_if<NotResumable>(&message)) {
    if (!std::exchange(told_not_resumable_, true)) events.push_back({spec_.name, std::move(*not_resumable)});
  } else if (auto* refused = std::get_if<CheckpointRefused>(&message)) {
    if (refusal_budget_.try_take(1, now)) events.push_back({spec_.name, std::move(*refused)});
  } else if (const auto* begun = std::get_if<CheckpointBegun>(&message)) {
    if (!checkpoint_marks_.expects_begin(begun->number, now)) return;
    read_cpu_time();
    checkpoint_marks_.begin(begun->number, cpu_ms_seen_, now, newest_progress_);
  } else if (auto* marks = std::get_if<WatchedMarks>(&message)) {
    checkpoint_marks_.mark_watched(std::move(*marks), records_);
  } else if (const auto* complete = std::get_if<Checkpointed>(&message)) {
    if (checkpoint_marks_.expects_file(complete->number)) keep_checkpoint_file(*complete);
  }
  report_checkpoints(events);
}

// Moves the file to where the guest cannot open it; deletes it if it is not a regular file with one link.
void GuestMonitor::keep_checkpoint_file(const Checkpointed& message) {
  const auto ours = checkpoint_file_name(message.number);
  const auto theirs = std::format("{}/{}", kOutFolder, ours);
  if (::renameat(folder_.get(), theirs.c_str(), folder_.get(), ours.c_str()) != 0) return;
  struct stat state{};
  if (::fstatat(folder_.get(), ours.c_str(), &state, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(state.st_mode) &&
      state.st_nlink == 1) {
    checkpoint_marks_.complete(message, spec_.folder / ours, state.st_size);
  } else if (::unlinkat(folder_.get(), ours.c_str(), 0) != 0) {
    ::unlinkat(folder_.get(), ours.c_str(), AT_REMOVEDIR);
  }
}

void GuestMonitor::report_checkpoints(std::vector<Event>& events) {
  for (auto& taken : checkpoint_marks_.take_complete()) events.push_back({spec_.name, std::move(taken)});
  for (const auto& file : checkpoint_marks_.take_abandoned())
    ::unlinkat(folder_.get(), file.filename().c_str(), 0);
}

void GuestMonitor::add_output(std::string_view bytes, std::vector<Event>& events) {
  bool marked = false;
  output_markers_.feed(
      bytes, [this](std::string_view text) { log_.add(text); },
      [&](std::uint64_t number) {
        if (!checkpoint_marks_.expects_marker(number, Clock::now())) return;
        checkpoint_marks_.mark_output(number, log_.kept(), log_.left_out());
        marked = true;
      });
  if (marked) report_checkpoints(events);
}

// A guest that does not read its socket would not act on a message either.
void GuestMonitor::tell_guest(std::string_view bytes) const {
  if (!spec_.resumable || !forked_.socket) return;
  [[maybe_unused]] const auto sent =
      ::send(forked_.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

// Before Began the guest reads other messages from its socket.
void GuestMonitor::request(char kind) {
  if (evidence_.began) return tell_guest({&kind, 1});
  if (request_ != kTakeFullCheckpoint) request_ = kind;
}

void GuestMonitor::send_held_request() {
  if (request_ != 0) tell_guest({&request_, 1});
}

void GuestMonitor::request_checkpoint() {
  request(kTakeCheckpoint);
}

void GuestMonitor::request_full_checkpoint() {
  request(kTakeFullCheckpoint);
}

void GuestMonitor::confirm_checkpoint(std::uint64_t number) {
  std::array<char, 1 + sizeof number> message{kCheckpointKept};
  std::memcpy(message.data() + 1, &number, sizeof number);
  if (evidence_.began) tell_guest({message.data(), message.size()});
}

}  // namespace remotist::volunteer
