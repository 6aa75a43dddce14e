#include "bench/agent_load/fleet.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>

#include "bench/agent_load/machine.h"
#include "bench/agent_load/upload.h"
#include "core/process.h"
#include "volunteer/connection/socket.h"

namespace remotist::bench {

using volunteer::Socket;
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kDialThreads = 8;
constexpr std::size_t kUploadThreads = 4;
constexpr auto kFlushEvery = 50ms;
constexpr auto kLineEvery = 1s;
constexpr auto kLeaveWait = 5s;
constexpr int kEventsAtOnce = 256;

int checked(int descriptor, const char* what) {
  if (descriptor < 0) throw std::runtime_error{std::string{what} + ": " + std::strerror(errno)};
  return descriptor;
}

}  // namespace

class Fleet::Seat final : public Surroundings {
 public:
  Seat(Fleet& fleet, std::size_t index, Lent lent)
      : fleet_(fleet),
        index_(index),
        machine_(std::move(lent), fleet.options_.behaviour, fleet.report_, fleet.journal_, *this,
                 fleet.options_.seed, index) {}

  Machine& machine() { return machine_; }

  // After anything that the machine was told: sends what it said and sets its alarm.
  void settle() {
    if (socket_ && !frozen_) flush();
    const Time due = machine_.due();
    if (due >= alarm_) return;
    alarm_ = due;
    fleet_.alarms_.push({due, index_});
  }

  void ring(const Alarm& alarm, Time now) {
    if (alarm.at != alarm_) return;  // it was set anew since
    alarm_ = Time::max();
    machine_.wake(now);
    settle();
  }

  void ready(std::uint32_t events, Time now) {
    if (!socket_) return;
    if ((events & ~std::uint32_t{EPOLLOUT}) != 0) {
      std::vector<std::string> texts;
      const bool open = socket_->read(texts);
      for (const auto& text : texts) machine_.heard(text, now);
      machine_.speak(now);
      if (!open && socket_) lose(now);
    }
    settle();
  }

  void dial(const std::string& token) override {
    fleet_.dials_.run([this, token](std::size_t) -> Errands::Return {
      auto dialled =
          Socket::dial(fleet_.options_.socket_url, token, fleet_.options_.ca_file, fleet_.dials_.stopping());
      return [this, dialled = std::move(dialled)]() mutable { dialled_up(std::move(dialled)); };
    });
  }

  void send(std::string_view text) override {
    if (socket_) socket_->send(text);
  }

  void hang_up(bool politely) override {
    if (!socket_) return;
    if (politely) {
      socket_->send_close(websocket::CloseCode::normal);
      (void)socket_->flush();
    }
    socket_.reset();
    frozen_ = false;
  }

  void set_frozen(bool frozen) override {
    if (!socket_ || frozen_ == frozen) return;
    frozen_ = frozen;
    watch();
  }

  void upload(const std::string& token, const protocol::AttemptKey& attempt) override {
    fleet_.uploads_.run([this, token, attempt](std::size_t thread) -> Errands::Return {
      auto code =
          upload_result(*fleet_.rests_[thread], token, attempt, fleet_.options_.behaviour.result_bytes);
      return [this, name = attempt.name, code = std::move(code)] {
        machine_.uploaded(name, code, Clock::now());
        settle();
      };
    });
  }

 private:
  void dialled_up(Socket::Dialled dialled) {
    const Time now = Clock::now();
    if (dialled.socket) {
      socket_ = std::move(dialled.socket);
      watching_ = Watching::nothing;
      watch();
      machine_.opened(now);
    } else {
      machine_.not_opened(dialled.status, dialled.why, now);
    }
    settle();
  }

  void lose(Time now) {
    const int code = socket_->close_code();
    const std::string why = socket_->why();
    socket_.reset();
    frozen_ = false;
    machine_.closed(code, why, now);
  }

  void flush() {
    // A connection that is over is found out by reading, which also finds why.
    (void)socket_->flush();
    watch();
  }

  enum class Watching : std::uint8_t { nothing, reading, both };

  void watch() {
    const auto wanted = frozen_                 ? Watching::nothing
                        : socket_->has_unsent() ? Watching::both
                                                : Watching::reading;
    if (wanted == watching_) return;
    epoll_event event{};
    event.events = wanted == Watching::both ? EPOLLIN | EPOLLOUT : EPOLLIN;
    event.data.ptr = this;
    const int change = wanted == Watching::nothing      ? EPOLL_CTL_DEL
                       : watching_ == Watching::nothing ? EPOLL_CTL_ADD
                                                        : EPOLL_CTL_MOD;
    checked(::epoll_ctl(fleet_.epoll_, change, socket_->descriptor(), &event), "epoll_ctl");
    watching_ = wanted;
  }

  Fleet& fleet_;
  const std::size_t index_;
  std::unique_ptr<Socket> socket_;
  bool frozen_ = false;
  Watching watching_ = Watching::nothing;
  Time alarm_ = Time::max();  // the one that counts of those in the queue
  Machine machine_;
};

Fleet::Fleet(const RunOptions& options, const std::vector<Lent>& machines, Report& report, Journal& journal)
    : options_(options),
      report_(report),
      journal_(journal),
      epoll_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      signals_(-1),
      dials_("dial", kDialThreads),
      uploads_("upload", kUploadThreads) {
  const sigset_t signals = stop_signals();
  signals_ = checked(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC), "signalfd");
  watch(signals_, &signals_);
  watch(dials_.descriptor(), &dials_);
  watch(uploads_.descriptor(), &uploads_);
  for (std::size_t i = 0; i < kUploadThreads; ++i)
    rests_.push_back(std::make_unique<Rest>(options.url, options.ca_file, uploads_.stopping()));
  for (const auto& machine : machines)
    seats_.push_back(std::make_unique<Seat>(*this, seats_.size(), machine));
}

Fleet::~Fleet() {
  ::close(signals_);
  ::close(epoll_);
}

void Fleet::watch(int descriptor, void* what) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = what;
  checked(::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
}

void Fleet::run() {
  began_ = Clock::now();
  next_line_ = began_ + kLineEvery;
  next_flush_ = began_ + kFlushEvery;
  for (const auto& seat : seats_) seat->settle();
  for (Time now = began_; !is_over(now); now = Clock::now()) {
    wait(now);
  }
  take_leave();
  journal_.flush();
}

void Fleet::wait(Time now) {
  std::array<epoll_event, kEventsAtOnce> events;
  const Time next = std::min({alarms_.empty() ? Time::max() : alarms_.top().at, next_line_, next_flush_});
  const auto ms = next <= now ? 0 : std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
  const int count = ::epoll_wait(epoll_, events.data(), kEventsAtOnce, static_cast<int>(ms));
  if (count < 0 && errno != EINTR) checked(count, "epoll_wait");
  now = Clock::now();
  for (int i = 0; i < count; ++i) {
    void* what = events[static_cast<std::size_t>(i)].data.ptr;
    if (what == &dials_) {
      dials_.take_returns();
    } else if (what == &uploads_) {
      uploads_.take_returns();
    } else if (what == &signals_) {
      signalfd_siginfo signal{};
      if (::read(signals_, &signal, sizeof signal) == sizeof signal) ++signals_seen_;
    } else {
      static_cast<Seat*>(what)->ready(events[static_cast<std::size_t>(i)].events, now);
    }
  }
  ring(Clock::now());
}

void Fleet::ring(Time now) {
  while (!alarms_.empty() && alarms_.top().at <= now) {
    const Alarm alarm = alarms_.top();
    alarms_.pop();
    seats_[alarm.seat]->ring(alarm, now);
  }
  if (next_flush_ <= now) {
    journal_.flush();
    next_flush_ = now + kFlushEvery;
  }
  if (next_line_ <= now) tell_progress(now);
}

void Fleet::tell_progress(Time now) {
  std::size_t connected = 0;
  std::size_t running = 0;
  for (const auto& seat : seats_) {
    const auto& machine = seat->machine();
    connected += machine.connected() ? 1 : 0;
    running += machine.running_count();
  }
  const auto since_line = std::chrono::duration<double>(now - next_line_ + kLineEvery).count();
  std::fprintf(stderr, "%.0f s: %llu completed (%.0f a second), %zu running, %zu of %zu machines connected\n",
               std::chrono::duration<double>(now - began_).count(),
               static_cast<unsigned long long>(report_.completed),
               static_cast<double>(report_.completed - completed_told_) / since_line, running, connected,
               seats_.size());
  completed_told_ = report_.completed;
  next_line_ = now + kLineEvery;
}

bool Fleet::is_over(Time now) const {
  if (signals_seen_ > 0 || all_retired()) return true;
  if (options_.seconds > 0 && now - began_ >= std::chrono::duration<double>(options_.seconds)) return true;
  return options_.until_completed > 0 &&
         report_.completed >= static_cast<std::uint64_t>(options_.until_completed);
}

void Fleet::take_leave() {
  const int signals_before = signals_seen_;
  const Time deadline = Clock::now() + kLeaveWait;
  dials_.stop();
  uploads_.stop();
  for (const auto& seat : seats_) {
    seat->machine().leave(options_.rude, Clock::now());
    seat->settle();
  }
  const auto left = [&] {
    return std::ranges::any_of(seats_, [](const auto& seat) { return !seat->machine().retired(); });
  };
  for (Time now = Clock::now(); left() && now < deadline && signals_seen_ == signals_before;
       now = Clock::now()) {
    wait(now);
  }
}

}  // namespace remotist::bench
