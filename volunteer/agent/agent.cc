#include "volunteer/agent/agent.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <random>
#include <stdexcept>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>
#include <variant>

#include "core/log.h"
#include "core/process.h"
#include "volunteer/agent/enrol.h"
#include "volunteer/agent/guest_events.h"
#include "volunteer/agent/status.h"
#include "volunteer/agent/transfer.h"

namespace remotist::volunteer {
namespace {

using namespace std::chrono_literals;
using protocol::AttemptKey;
using protocol::AttemptName;

constexpr std::size_t kTransferThreads = 4;
constexpr std::size_t kCheckpointThreads = 4;
constexpr auto kBatteryInterval = 30s;
constexpr auto kGuestCheckInterval = 500ms;
constexpr auto kLogInterval = 2s;
constexpr auto kGoodbyeWait = 5s;
constexpr int kEventsAtOnce = 64;
// The disc of a job whose client names none (client-r).
constexpr std::int64_t kDefaultDiscMb = 1024;
constexpr std::size_t kPreparedDiscs = 2;

int checked(int descriptor, const char* what) {
  if (descriptor < 0) throw std::runtime_error{std::string{what} + ": " + std::strerror(errno)};
  return descriptor;
}

Descriptor signal_descriptor() {
  const sigset_t signals = stop_signals();
  return Descriptor{checked(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC), "signalfd")};
}

// Deletes the folders that an agent left when it was killed.
std::filesystem::path emptied_guests_folder(const StateFolder& state) {
  clear_guests(state);
  return state.guests();
}

}  // namespace

void clear_guests(const StateFolder& state) {
  std::filesystem::create_directories(state.guests());
  for (const auto& folder : std::filesystem::directory_iterator{state.guests()}) remove_folder(folder.path());
}

// More than this machine's cores can be busy with: jobs wait for the network too.
std::size_t Agent::attempts_max(const LentMachine& machine) {
  return static_cast<std::size_t>(2 * machine.cpu_cores + 16);
}

Agent::Agent(const StateFolder& state, const Login& login, LentMachine machine, AgentOptions options)
    : state_(state),
      login_(login),
      machine_(std::move(machine)),
      options_(std::move(options)),
      epoll_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      signals_(signal_descriptor()),
      control_(state.control()),
      cache_(state.cache(), options_.cache_bytes_max),
      gauges_(state.path()),
      sandbox_({.runner = options_.runner,
                .guests = emptied_guests_folder(state),
                .guests_max = attempts_max(machine_),
                .protections = options_.protections}),
      attempts_(*this),
      session_(*this, attempts_, "remotist volunteer-agent " + std::to_string(protocol::kVersion),
               machine_.token,
               std::chrono::seconds{std::max<std::int64_t>(60, seconds_until(machine_.token_expires_at))},
               std::random_device{}()),
      upload_pace_(options_.checkpoint_mb_per_s * (1 << 20)),
      connects_("connect", 1),
      checkpoint_transfers_("checkpoint", kCheckpointThreads),
      transfers_("transfer", kTransferThreads) {
  for (std::size_t i = 0; i < kTransferThreads; ++i)
    rests_.push_back(std::make_unique<Rest>(login_.url, login_.ca_file, transfers_.stopping()));
  for (std::size_t i = 0; i < kCheckpointThreads; ++i)
    checkpoint_rests_.push_back(
        std::make_unique<Rest>(login_.url, login_.ca_file, checkpoint_transfers_.stopping()));
  add_to_epoll(signals_.get(), &signals_);
  add_to_epoll(control_.descriptor(), &control_);
  add_to_epoll(sandbox_.descriptor(), &sandbox_);
  add_to_epoll(connects_.descriptor(), &connects_);
  add_to_epoll(checkpoint_transfers_.descriptor(), &checkpoint_transfers_);
  add_to_epoll(transfers_.descriptor(), &transfers_);
  transfers_.start([this](std::size_t) -> BackgroundCalls::Completion {
    try {
      sandbox_.prepare_discs(kDefaultDiscMb, kPreparedDiscs);
    } catch (const std::exception& fault) {
      log::warn("discs_not_prepared", {{"why", fault.what()}});
    }
    return [] {};
  });
}

Agent::~Agent() {
  transfers_.stop();
  checkpoint_transfers_.stop();
  upload_pace_.wake();
}

void Agent::add_to_epoll(int descriptor, void* what) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = what;
  checked(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
}

std::string Agent::run() {
  for (Time now = Clock::now(); !session_.ended(); now = Clock::now()) {
    if (leave_at_ <= now || (stopping_ && attempts_.can_leave() && exit_at_ == Time::max())) {
      leave_at_ = Time::max();
      exit_at_ = now + kGoodbyeWait;
      session_.leave("the machine's agent stops", now);
    }
    if (exit_at_ <= now) break;
    if (session_.due() <= now) session_.wake(now);
    if (logs_at_ <= now) send_logs(now);
    if (battery_at_ <= now) check_battery(now);
    if (pause_ends_at_ <= now) {
      pause_ends_at_ = Time::max();
      attempts_.hand_over_all("the machine is paused", false, now);
    }
    if (!is_ready_ && sandbox_.ready()) {
      is_ready_ = true;
      log::info("ready", {{"machine", machine_.id.text()}, {"zygote_pid", sandbox_.zygote()}});
      if (options_.on_ready) options_.on_ready();
    }
    if (socket_) flush_socket();
    wait(now);
  }
  if (!session_.rejection().empty()) log::error("machine_rejected", {{"why", session_.rejection()}});
  return session_.rejection();
}

void Agent::wait(Time now) {
  std::array<epoll_event, kEventsAtOnce> events;
  const Time next = std::min({session_.due(), leave_at_, exit_at_, logs_at_, battery_at_, pause_ends_at_,
                              now + kGuestCheckInterval});
  const auto ms = next <= now ? 0 : std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
  const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsAtOnce, static_cast<int>(ms));
  if (count < 0 && errno != EINTR) checked(count, "epoll_wait");
  now = Clock::now();
  for (int i = 0; i < count; ++i) {
    const auto& event = events[static_cast<std::size_t>(i)];
    void* what = event.data.ptr;
    if (what == &connects_) {
      connects_.run_completions();
    } else if (what == &transfers_) {
      transfers_.run_completions();
    } else if (what == &checkpoint_transfers_) {
      checkpoint_transfers_.run_completions();
    } else if (what == &control_) {
      control_.serve([this](std::string_view request) { return answer(request); });
    } else if (what == &signals_) {
      signalfd_siginfo signal{};
      if (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) stop(stopping_, "a signal", now);
    } else if (what == this && socket_) {
      read_socket(event.events, now);
    }
  }
  handle_guest_events(now);
  session_.send_pending(now);
}

void Agent::stop(bool at_once, std::string_view reason, Time now) {
  log::info("stopping", {{"why", reason}, {"jobs", attempts_.count()}, {"at_once", at_once}});
  leave_at_ = std::min(leave_at_, at_once ? now : now + std::chrono::seconds{options_.grace_seconds});
  const bool is_first = !std::exchange(stopping_, true);
  session_.set_taking_jobs(false, now);
  if (is_first && !at_once) attempts_.hand_over_all(reason, true, now);
  session_.send_pending(now);
}

void Agent::pause(Time now) {
  if (attempts_.is_paused()) return;
  log::info("paused", {{"jobs", attempts_.count()}});
  attempts_.pause(now);
  pause_ends_at_ = now + std::chrono::minutes{options_.pause_minutes_max};
  session_.set_taking_jobs(takes_jobs(), now);
}

void Agent::unpause(Time now) {
  if (!attempts_.is_paused()) return;
  log::info("unpaused", {{"jobs", attempts_.count()}});
  attempts_.unpause(now);
  pause_ends_at_ = Time::max();
  session_.set_taking_jobs(takes_jobs(), now);
}

void Agent::check_battery(Time now) {
  battery_at_ = now + kBatteryInterval;
  transfers_.start([this](std::size_t) -> BackgroundCalls::Completion {
    return [this, battery = read_battery()] { on_battery(battery, Clock::now()); };
  });
}

void Agent::on_battery(const std::optional<Battery>& battery, Time now) {
  const bool is_low = is_battery_low(battery, battery_low_, options_.battery_percent_min);
  if (is_low != battery_low_) {
    battery_low_ = is_low;
    log::info(is_low ? "battery_low" : "battery_charges", {{"percent", battery ? battery->percent : 100}});
    session_.set_taking_jobs(takes_jobs(), now);
  }
  // Also those that came meanwhile.
  if (battery_low_) attempts_.hand_over_all("the machine's battery is low", false, now);
  session_.send_pending(now);
}

// --- the connection

void Agent::connect(const std::string& token) {
  connects_.start([this, token](std::size_t) -> BackgroundCalls::Completion {
    // Packages may have been installed since the last connection.
    auto software = read_machine_software();
    auto result = Socket::connect(machine_.socket_url, token, login_.ca_file, connects_.stopping());
    return [this, software = std::move(software), result = std::move(result)]() mutable {
      session_.set_software(software);
      software_ = std::move(software);
      on_connect_result(std::move(result));
    };
  });
}

void Agent::on_connect_result(Socket::ConnectResult result) {
  const Time now = Clock::now();
  if (!result.socket) return session_.on_connect_failed(result.status, result.why, now);
  socket_ = std::move(result.socket);
  waits_for_writes_ = false;
  add_to_epoll(socket_->descriptor(), this);
  session_.on_connected(now);
}

void Agent::read_socket(std::uint32_t events, Time now) {
  if ((events & ~std::uint32_t{EPOLLOUT}) == 0) return;
  std::vector<std::string> texts;
  const bool open = socket_->read(texts);
  for (const auto& text : texts) session_.on_message(text, now);
  session_.send_pending(now);
  if (open || !socket_) return;
  const auto gone = std::move(socket_);
  session_.on_closed(gone->close_code(), gone->why(), now);
}

// Sends what is queued, and lets epoll report when the kernel accepts more.
void Agent::flush_socket() {
  // When the connection is lost, reading reports that and the reason.
  (void)socket_->flush();
  if (socket_->has_unsent() == waits_for_writes_) return;
  waits_for_writes_ = !waits_for_writes_;
  epoll_event event{};
  event.events = waits_for_writes_ ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.ptr = this;
  checked(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, socket_->descriptor(), &event), "epoll_ctl");
}

void Agent::send(std::string_view text) {
  if (socket_) socket_->send(text);
}

void Agent::disconnect(bool with_close_frame) {
  if (!socket_) return;
  if (with_close_frame) socket_->send_close(websocket::CloseCode::normal);
  (void)socket_->flush();
  socket_.reset();
}

void Agent::store_token(const protocol::Token& token) {
  machine_.token = token.token;
  machine_.token_expires_at = token.expires_at;
  state_.store(machine_);
}

void Agent::request_token() {
  connects_.start([this](std::size_t) -> BackgroundCalls::Completion {
    auto machine = machine_;
    std::string why;
    bool permanent = false;
    try {
      start_volunteer(login_, machine, options_.token_may_be_plaintext);
    } catch (const Unreachable& fault) {
      why = fault.what();
    } catch (const std::exception& fault) {
      why = fault.what();
      permanent = true;
    }
    return [this, machine = std::move(machine), why = std::move(why), permanent] {
      if (!why.empty()) return session_.on_token_failed(why, permanent, Clock::now());
      machine_ = machine;
      state_.store(machine_);
      session_.on_new_token(machine_.token, std::chrono::seconds{seconds_until(machine_.token_expires_at)});
    };
  });
}

protocol::Beat Agent::read_gauges() {
  return gauges_.read();
}

// --- guests

void Agent::handle_guest_events(Time now) {
  for (auto& event : sandbox_.take_events()) {
    const auto entry = local_attempts_.find(event.guest);
    if (entry == local_attempts_.end()) continue;
    auto& local = entry->second;
    if (std::holds_alternative<Ended>(event.what)) local.running = false;
    // The guest has it open until it has read it.
    if (std::holds_alternative<Resumed>(event.what) && !local.dropped && local.guest->resume_from)
      discard_checkpoint(local.attempt, local.guest->resume_from->file);
    if (local.dropped) {
      delete_if_unused(event.guest);
    } else {
      const auto attempt = local.attempt;
      handle_guest_event(attempts_, attempt, std::move(event), now);
    }
  }
}

void Agent::send_logs(Time now) {
  logs_at_ = now + kLogInterval;
  freeze_again();
  if (!session_.connected()) return;
  for (auto& [name, local] : local_attempts_) {
    const auto key = attempts_.key(local.attempt);
    if (!local.running || local.dropped || local.sending_log || !key) continue;
    auto text = sandbox_.log_so_far(name);
    const auto hash = std::hash<std::string>{}(text);
    if (text.empty() || hash == local.log_hash) continue;
    local.sending_log = true;
    start_transfer(
        transfers_, name,
        [key = *key, token = session_.token(), text = std::move(text)](Rest& rest) {
          return send_log(rest, {token, key}, text);
        },
        [hash](LocalAttempt& sent, const TransferFault&) {
          sent.sending_log = false;
          sent.log_hash = hash;  // after a failure the lines are sent with the next ones, or at the end
        });
  }
}

// --- requests of the owner

std::string Agent::answer(std::string_view request) {
  if (request == "status") {
    return status_text({.machine = machine_,
                        .url = login_.url,
                        .connected = session_.connected(),
                        .taking_jobs = session_.taking_jobs(),
                        .paused = attempts_.is_paused(),
                        .battery_low = battery_low_,
                        .connection_error = session_.connection_error(),
                        .sandbox_ready = sandbox_.ready(),
                        .missing = sandbox_.missing(),
                        .zygote = sandbox_.zygote(),
                        .running = attempts_.running(),
                        .jobs_ended = jobs_ended_,
                        .cache_bytes = cache_.bytes()});
  }
  if (request == "stop" || request == "stop now") {
    stop(request == "stop now", "requested by the owner", Clock::now());
    return "stopping";
  }
  if (request == "pause") {
    if (stopping_) return "stopping";
    pause(Clock::now());
    return "paused";
  }
  if (request == "resume") {
    unpause(Clock::now());
    return "resumed";
  }
  return "unknown request";
}

}  // namespace remotist::volunteer
