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
#include "volunteer/agent/status.h"
#include "volunteer/agent/transfer.h"

namespace remotist::volunteer {
namespace {

using namespace std::chrono_literals;
using protocol::AttemptKey;
using protocol::AttemptName;

constexpr std::size_t kTransferThreads = 4;
constexpr auto kGuestsEvery = 500ms;
constexpr auto kLogsEvery = 2s;
constexpr auto kLeaveWait = 5s;
constexpr int kEventsAtOnce = 64;
// What the R package asks for when its user does not say.
constexpr std::int64_t kUsualDiscMb = 1024;
constexpr std::size_t kPreparedDiscs = 2;

int checked(int descriptor, const char* what) {
  if (descriptor < 0) throw std::runtime_error{std::string{what} + ": " + std::strerror(errno)};
  return descriptor;
}

Descriptor signal_descriptor() {
  const sigset_t signals = stop_signals();
  return Descriptor{checked(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC), "signalfd")};
}

// More than this machine's cores can be busy with: jobs wait for the network too.
std::size_t attempts_max(const LentMachine& machine) {
  return static_cast<std::size_t>(2 * machine.cpu_cores + 16);
}

// Whatever an agent that was killed has left there.
std::filesystem::path emptied(const StateFolder& state) {
  clear_guests(state);
  return state.guests();
}

}  // namespace

void clear_guests(const StateFolder& state) {
  std::filesystem::create_directories(state.guests());
  for (const auto& left : std::filesystem::directory_iterator{state.guests()}) remove_folder(left.path());
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
      house_({.runner = options_.runner,
              .guests = emptied(state),
              .guests_max = attempts_max(machine_),
              .layers = options_.layers}),
      jobs_(*this, attempts_max(machine_)),
      session_(*this, jobs_, machine_.token,
               std::chrono::seconds{std::max<std::int64_t>(60, seconds_until(machine_.token_expires_at))},
               std::random_device{}()),
      dials_("dial", 1),
      transfers_("transfer", kTransferThreads) {
  for (std::size_t i = 0; i < kTransferThreads; ++i)
    rests_.push_back(std::make_unique<Rest>(login_.url, login_.ca_file, transfers_.stopping()));
  watch(signals_.get(), &signals_);
  watch(control_.descriptor(), &control_);
  watch(house_.descriptor(), &house_);
  watch(dials_.descriptor(), &dials_);
  watch(transfers_.descriptor(), &transfers_);
  transfers_.run([this](std::size_t) -> Errands::Return {
    try {
      house_.prepare_discs(kUsualDiscMb, kPreparedDiscs);
    } catch (const std::exception& fault) {
      log::warn("discs_not_prepared", {{"why", fault.what()}});
    }
    return [] {};
  });
}

Agent::~Agent() {
  transfers_.stop();
}

void Agent::watch(int descriptor, void* what) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = what;
  checked(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
}

std::string Agent::run() {
  for (Time now = Clock::now(); !session_.over(); now = Clock::now()) {
    if (leave_at_ <= now || (stopping_ && jobs_.count() == 0 && give_up_at_ == Time::max())) {
      leave_at_ = Time::max();
      give_up_at_ = now + kLeaveWait;
      session_.leave("the machine's agent stops", now);
    }
    if (give_up_at_ <= now) break;
    if (session_.due() <= now) session_.wake(now);
    if (logs_at_ <= now) send_logs(now);
    if (!told_ready_ && house_.ready()) {
      told_ready_ = true;
      log::info("ready", {{"machine", machine_.id.text()}, {"zygote_pid", house_.zygote()}});
      if (options_.on_ready) options_.on_ready();
    }
    if (socket_) watch_socket();
    wait(now);
  }
  return session_.turned_away();
}

void Agent::wait(Time now) {
  std::array<epoll_event, kEventsAtOnce> events;
  const Time next = std::min({session_.due(), leave_at_, give_up_at_, logs_at_, now + kGuestsEvery});
  const auto ms = next <= now ? 0 : std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
  const int count = ::epoll_wait(epoll_.get(), events.data(), kEventsAtOnce, static_cast<int>(ms));
  if (count < 0 && errno != EINTR) checked(count, "epoll_wait");
  now = Clock::now();
  for (int i = 0; i < count; ++i) {
    const auto& event = events[static_cast<std::size_t>(i)];
    void* what = event.data.ptr;
    if (what == &dials_) {
      dials_.take_returns();
    } else if (what == &transfers_) {
      transfers_.take_returns();
    } else if (what == &control_) {
      control_.serve([this](std::string_view request) { return answer(request); });
    } else if (what == &signals_) {
      signalfd_siginfo signal{};
      if (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) stop(stopping_, "a signal", now);
    } else if (what == this && socket_) {
      take_socket(event.events, now);
    }
  }
  take_guests(now);
  session_.speak(now);
}

void Agent::stop(bool at_once, std::string_view reason, Time now) {
  log::info("stopping", {{"why", reason}, {"jobs", jobs_.count()}, {"at_once", at_once}});
  leave_at_ = std::min(leave_at_, at_once ? now : now + std::chrono::seconds{options_.grace_seconds});
  stopping_ = true;
  session_.take_jobs(false, now);
}

// --- the connection

void Agent::dial(const std::string& token) {
  dials_.run([this, token](std::size_t) -> Errands::Return {
    auto dialled = Socket::dial(machine_.socket_url, token, login_.ca_file, dials_.stopping());
    return [this, dialled = std::move(dialled)]() mutable { dialled_up(std::move(dialled)); };
  });
}

void Agent::dialled_up(Socket::Dialled dialled) {
  const Time now = Clock::now();
  if (!dialled.socket) return session_.not_opened(dialled.status, dialled.why, now);
  socket_ = std::move(dialled.socket);
  watching_writes_ = false;
  watch(socket_->descriptor(), this);
  session_.opened(now);
}

void Agent::take_socket(std::uint32_t events, Time now) {
  if ((events & ~std::uint32_t{EPOLLOUT}) == 0) return;
  std::vector<std::string> texts;
  const bool open = socket_->read(texts);
  for (const auto& text : texts) session_.heard(text, now);
  session_.speak(now);
  if (open || !socket_) return;
  const auto gone = std::move(socket_);
  session_.closed(gone->close_code(), gone->why(), now);
}

// Sends what waits, and asks to be woken when the kernel takes more.
void Agent::watch_socket() {
  // A connection that is over is found out by reading, which also finds why.
  (void)socket_->flush();
  if (socket_->has_unsent() == watching_writes_) return;
  watching_writes_ = !watching_writes_;
  epoll_event event{};
  event.events = watching_writes_ ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.ptr = this;
  checked(::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, socket_->descriptor(), &event), "epoll_ctl");
}

void Agent::send(std::string_view text) {
  if (socket_) socket_->send(text);
}

void Agent::hang_up(bool politely) {
  if (!socket_) return;
  if (politely) socket_->send_close(websocket::CloseCode::normal);
  (void)socket_->flush();
  socket_.reset();
}

void Agent::keep_token(const protocol::Token& token) {
  machine_.token = token.token;
  machine_.token_expires_at = token.expires_at;
  state_.keep(machine_);
}

void Agent::ask_for_token() {
  dials_.run([this](std::size_t) -> Errands::Return {
    auto machine = machine_;
    std::string why;
    bool for_good = false;
    try {
      start_volunteer(login_, machine, options_.token_may_be_plaintext);
    } catch (const Unreachable& fault) {
      why = fault.what();
    } catch (const std::exception& fault) {
      why = fault.what();
      for_good = true;
    }
    return [this, machine = std::move(machine), why = std::move(why), for_good] {
      if (!why.empty()) return session_.no_token(why, for_good, Clock::now());
      machine_ = machine;
      state_.keep(machine_);
      session_.new_token(machine_.token, std::chrono::seconds{seconds_until(machine_.token_expires_at)});
    };
  });
}

protocol::Beat Agent::readings() {
  return gauges_.read();
}

// --- attempts and guests

const std::string& Agent::stay_of(const AttemptName& attempt) {
  auto& name = current_[attempt];
  if (name.empty()) {
    name = attempt.job.text() + "-" + std::to_string(attempt.number) + "-" + std::to_string(++stays_made_);
    stays_.emplace(name,
                   Stay{.attempt = attempt, .guest = std::make_shared<GuestSpec>(GuestSpec{.name = name})});
  }
  return name;
}

template <class Work, class Done>
void Agent::with_stay(const std::string& name, Work work, Done done) {
  ++stays_.at(name).errands;
  transfers_.run([this, name, work = std::move(work),
                  done = std::move(done)](std::size_t thread) mutable -> Errands::Return {
    auto result = work(*rests_[thread]);
    return [this, name, result = std::move(result), done = std::move(done)]() mutable {
      auto& stay = stays_.at(name);
      --stay.errands;
      if (stay.dropped) return let_go(name);
      done(stay, std::move(result));
    };
  });
}

void Agent::fetch(const protocol::Assignment& assignment) {
  const auto& name = stay_of(assignment.attempt.name);
  with_stay(
      name,
      [this, assignment, token = session_.token(), guest = stays_.at(name).guest](Rest& rest) {
        guest->exec_file = assignment.exec_file;
        guest->limits.cpu_cores = assignment.cpu_cores;
        guest->limits.cpu_ms_max = assignment.cpu_ms_max;
        guest->limits.ram_mb = assignment.ram_mb;
        guest->limits.disc_mb = assignment.disc_mb;
        guest->watched = assignment.watched_variables;
        return fetch_job(rest, cache_, {token, assignment.attempt}, assignment, [&]() -> const GuestSpec& {
          house_.make_folder(*guest);
          return *guest;
        });
      },
      [this](const Stay& stay, const TransferFault& fault) {
        jobs_.fetched(stay.attempt, fault, Clock::now());
      });
}

void Agent::run(const protocol::Assignment& assignment) {
  const auto& name = stay_of(assignment.attempt.name);
  auto& stay = stays_.at(name);
  stay.running = true;
  house_.start(*stay.guest);
}

void Agent::deliver(const AttemptKey& attempt, const Verdict& verdict) {
  const auto& name = stay_of(attempt.name);
  with_stay(
      name,
      [attempt, verdict, token = session_.token(), guest = stays_.at(name).guest](Rest& rest) {
        return deliver_job(rest, {token, attempt}, verdict, *guest);
      },
      [this](const Stay& stay, Delivery delivery) {
        jobs_.delivered(stay.attempt, delivery.fault, std::move(delivery.small), Clock::now());
      });
}

void Agent::upload(const AttemptKey& attempt, const LargeValue& value) {
  const auto& name = stay_of(attempt.name);
  with_stay(
      name,
      [attempt, file = value.file, token = session_.token(), folder = stays_.at(name).guest->folder](
          Rest& rest) { return send_value(rest, {token, attempt}, folder, file); },
      [this, value](const Stay& stay, Uploaded uploaded) {
        jobs_.uploaded(stay.attempt, value, uploaded.fault, std::move(uploaded.chunks), uploaded.size,
                       Clock::now());
      });
}

void Agent::discard(const AttemptName& attempt, const std::string& file) {
  const auto& name = stay_of(attempt);
  with_stay(
      name,
      [file, folder = stays_.at(name).guest->folder](Rest&) {
        discard_value(folder, file);
        return 0;
      },
      [](const Stay&, int) {});
}

void Agent::drop(const AttemptName& attempt) {
  const auto entry = current_.find(attempt);
  if (entry == current_.end()) return;
  const auto name = entry->second;
  current_.erase(entry);
  auto& stay = stays_.at(name);
  stay.dropped = true;
  ++jobs_ended_;
  if (stay.running) house_.stop(name);
  let_go(name);
}

void Agent::let_go(const std::string& name) {
  auto& stay = stays_.at(name);
  if (stay.running || stay.errands > 0) return;
  // Its disc, too, goes on that thread: emptying it takes time.
  transfers_.run([guest = std::move(stay.guest)](std::size_t) mutable -> Errands::Return {
    try {
      if (!guest->folder.empty()) remove_folder(guest->folder);
    } catch (const std::exception& fault) {
      log::warn("folder_left", {{"folder", guest->folder.string()}, {"why", fault.what()}});
    }
    guest.reset();
    return [] {};
  });
  stays_.erase(name);
}

std::int64_t Agent::cpu_ms(const AttemptName& attempt) const {
  const auto entry = current_.find(attempt);
  return entry == current_.end() ? 0 : house_.cpu_ms(entry->second).value_or(0);
}

void Agent::take_guests(Time now) {
  for (auto& event : house_.take_events()) {
    const auto entry = stays_.find(event.guest);
    if (entry == stays_.end()) continue;
    auto& stay = entry->second;
    if (auto* progress = std::get_if<Progress>(&event.what)) {
      if (!stay.dropped) jobs_.progressed(stay.attempt, progress->fraction, std::move(progress->message));
      continue;
    }
    if (auto* partial = std::get_if<PartialValue>(&event.what)) {
      if (!stay.dropped) jobs_.changed(stay.attempt, std::move(*partial), now);
      continue;
    }
    stay.running = false;
    if (stay.dropped) {
      let_go(event.guest);
    } else {
      jobs_.ran(stay.attempt, std::move(std::get<Ended>(event.what).verdict), now);
    }
  }
}

void Agent::send_logs(Time now) {
  logs_at_ = now + kLogsEvery;
  if (!session_.present()) return;
  for (auto& [name, stay] : stays_) {
    const auto key = jobs_.key(stay.attempt);
    if (!stay.running || stay.dropped || stay.sending_log || !key) continue;
    auto text = house_.log_so_far(name);
    const auto hash = std::hash<std::string>{}(text);
    if (text.empty() || hash == stay.log_hash) continue;
    stay.sending_log = true;
    with_stay(
        name,
        [key = *key, token = session_.token(), text = std::move(text)](Rest& rest) {
          return send_log(rest, {token, key}, text);
        },
        [hash](Stay& sent, const TransferFault&) {
          sent.sending_log = false;
          sent.log_hash = hash;  // what could not be sent comes with what is printed next, or at the end
        });
  }
}

// --- its owner

std::string Agent::answer(std::string_view request) {
  if (request == "status") {
    return status_text({.machine = machine_,
                        .url = login_.url,
                        .connected = session_.present(),
                        .taking_jobs = session_.taking_jobs(),
                        .trouble = session_.trouble(),
                        .sandbox_ready = house_.ready(),
                        .missing = house_.missing(),
                        .zygote = house_.zygote(),
                        .running = jobs_.running(),
                        .jobs_ended = jobs_ended_,
                        .cache_bytes = cache_.bytes()});
  }
  if (request == "stop" || request == "stop now") {
    stop(request == "stop now", "its owner", Clock::now());
    return "stopping";
  }
  return "unknown request";
}

}  // namespace remotist::volunteer
