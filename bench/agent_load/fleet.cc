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

constexpr std::size_t kConnectThreads = 8;
constexpr std::size_t kUploadThreads = 4;
constexpr auto kFlushInterval = 50ms;
constexpr auto kProgressInterval = 1s;
constexpr auto kGoodbyeWait = 5s;
constexpr int kEventsAtOnce = 256;

int checked(int descriptor, const char* what) {
  if (descriptor < 0) throw std::runtime_error{std::string{what} + ": " + std::strerror(errno)};
  return descriptor;
}

}  // namespace

class Fleet::Connection final : public MachineIo {
 public:
  Connection(Fleet& fleet, std::size_t index, MachineCredentials lent)
      : fleet_(fleet),
        index_(index),
        machine_(std::move(lent), fleet.options_.behaviour, fleet.report_, fleet.journal_, *this,
                 fleet.options_.seed, index) {}

  Machine& machine() { return machine_; }

  // After each event of the machine: sends its messages and sets its timer.
  void settle() {
    if (socket_ && !frozen_) flush();
    const Time due = machine_.due();
    if (due >= timer_) return;
    timer_ = due;
    fleet_.timers_.push({due, index_});
  }

  void on_timer(const Timer& timer, Time now) {
    if (timer.at != timer_) return;  // replaced by a later one
    timer_ = Time::max();
    machine_.wake(now);
    if (std::exchange(thawed_, false)) return ready(EPOLLIN, now);
    settle();
  }

  void ready(std::uint32_t events, Time now) {
    if (!socket_) return;
    if ((events & ~std::uint32_t{EPOLLOUT}) != 0) {
      std::vector<std::string> texts;
      const bool open = socket_->read(texts);
      for (const auto& text : texts) machine_.on_message(text, now);
      machine_.send_pending(now);
      if (!open && socket_) lose(now);
    }
    settle();
  }

  void connect(const std::string& token) override {
    fleet_.connects_.start([this, token](std::size_t) -> BackgroundCalls::Completion {
      auto result = Socket::connect(fleet_.options_.socket_url, token, fleet_.options_.ca_file,
                                    fleet_.connects_.stopping());
      return [this, result = std::move(result)]() mutable { on_connect_result(std::move(result)); };
    });
  }

  void send(std::string_view text) override {
    if (socket_) socket_->send(text);
  }

  void disconnect(bool with_close_frame) override {
    if (!socket_) return;
    if (with_close_frame) {
      socket_->send_close(websocket::CloseCode::normal);
      (void)socket_->flush();
    }
    socket_.reset();
    frozen_ = false;
  }

  void set_frozen(bool frozen) override {
    if (!socket_ || frozen_ == frozen) return;
    frozen_ = frozen;
    thawed_ = !frozen;
    update_epoll();
  }

  void upload(const std::string& token, const protocol::AttemptKey& attempt) override {
    fleet_.uploads_.start([this, token, attempt](std::size_t thread) -> BackgroundCalls::Completion {
      auto code =
          upload_result(*fleet_.rests_[thread], token, attempt, fleet_.options_.behaviour.result_bytes);
      return [this, name = attempt.name, code = std::move(code)] {
        machine_.uploaded(name, code, Clock::now());
        settle();
      };
    });
  }

 private:
  void on_connect_result(Socket::ConnectResult result) {
    const Time now = Clock::now();
    if (result.socket) {
      socket_ = std::move(result.socket);
      polled_ = Polled::nothing;
      update_epoll();
      machine_.on_connected(now);
    } else {
      machine_.on_connect_failed(result.status, result.why, now);
    }
    settle();
  }

  void lose(Time now) {
    const int code = socket_->close_code();
    const std::string why = socket_->why();
    socket_.reset();
    frozen_ = false;
    machine_.on_closed(code, why, now);
  }

  void flush() {
    // When the connection is lost, reading reports that and the reason.
    (void)socket_->flush();
    update_epoll();
  }

  enum class Polled : std::uint8_t { nothing, reading, both };

  void update_epoll() {
    const auto wanted = frozen_ ? Polled::nothing : socket_->has_unsent() ? Polled::both : Polled::reading;
    if (wanted == polled_) return;
    epoll_event event{};
    event.events = wanted == Polled::both ? EPOLLIN | EPOLLOUT : EPOLLIN;
    event.data.ptr = this;
    const int change = wanted == Polled::nothing    ? EPOLL_CTL_DEL
                       : polled_ == Polled::nothing ? EPOLL_CTL_ADD
                                                    : EPOLL_CTL_MOD;
    checked(::epoll_ctl(fleet_.epoll_, change, socket_->descriptor(), &event), "epoll_ctl");
    polled_ = wanted;
  }

  Fleet& fleet_;
  const std::size_t index_;
  std::unique_ptr<Socket> socket_;
  bool frozen_ = false;
  bool thawed_ = false;  // what has come while it was frozen is to be read
  Polled polled_ = Polled::nothing;
  Time timer_ = Time::max();  // the valid one of those in the queue
  Machine machine_;
};

Fleet::Fleet(const RunOptions& options, const std::vector<MachineCredentials>& machines, Report& report,
             Journal& journal)
    : options_(options),
      report_(report),
      journal_(journal),
      epoll_(checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      signals_(-1),
      connects_("connect", kConnectThreads),
      uploads_("upload", kUploadThreads) {
  const sigset_t signals = stop_signals();
  signals_ = checked(::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC), "signalfd");
  add_to_epoll(signals_, &signals_);
  add_to_epoll(connects_.descriptor(), &connects_);
  add_to_epoll(uploads_.descriptor(), &uploads_);
  for (std::size_t i = 0; i < kUploadThreads; ++i)
    rests_.push_back(std::make_unique<Rest>(options.url, options.ca_file, uploads_.stopping()));
  for (const auto& machine : machines)
    connections_.push_back(std::make_unique<Connection>(*this, connections_.size(), machine));
}

Fleet::~Fleet() {
  ::close(signals_);
  ::close(epoll_);
}

void Fleet::add_to_epoll(int descriptor, void* what) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = what;
  checked(::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
}

void Fleet::run() {
  began_ = Clock::now();
  next_line_ = began_ + kProgressInterval;
  next_flush_ = began_ + kFlushInterval;
  for (const auto& connection : connections_) connection->settle();
  for (Time now = began_; !is_over(now); now = Clock::now()) {
    wait(now);
  }
  leave_all();
  journal_.flush();
}

void Fleet::wait(Time now) {
  std::array<epoll_event, kEventsAtOnce> events;
  const Time next = std::min({timers_.empty() ? Time::max() : timers_.top().at, next_line_, next_flush_});
  const auto ms = next <= now ? 0 : std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
  const int count = ::epoll_wait(epoll_, events.data(), kEventsAtOnce, static_cast<int>(ms));
  if (count < 0 && errno != EINTR) checked(count, "epoll_wait");
  now = Clock::now();
  for (int i = 0; i < count; ++i) {
    void* what = events[static_cast<std::size_t>(i)].data.ptr;
    if (what == &connects_) {
      connects_.run_completions();
    } else if (what == &uploads_) {
      uploads_.run_completions();
    } else if (what == &signals_) {
      signalfd_siginfo signal{};
      if (::read(signals_, &signal, sizeof signal) == sizeof signal) ++signals_seen_;
    } else {
      static_cast<Connection*>(what)->ready(events[static_cast<std::size_t>(i)].events, now);
    }
  }
  run_timers(Clock::now());
}

void Fleet::run_timers(Time now) {
  while (!timers_.empty() && timers_.top().at <= now) {
    const Timer timer = timers_.top();
    timers_.pop();
    connections_[timer.connection]->on_timer(timer, now);
  }
  if (next_flush_ <= now) {
    journal_.flush();
    next_flush_ = now + kFlushInterval;
  }
  if (next_line_ <= now) print_progress(now);
}

void Fleet::print_progress(Time now) {
  std::size_t connected = 0;
  std::size_t running = 0;
  for (const auto& connection : connections_) {
    const auto& machine = connection->machine();
    connected += machine.connected() ? 1 : 0;
    running += machine.running_count();
  }
  const auto since_line = std::chrono::duration<double>(now - next_line_ + kProgressInterval).count();
  std::fprintf(stderr, "%.0f s: %llu completed (%.0f a second), %zu running, %zu of %zu machines connected\n",
               std::chrono::duration<double>(now - began_).count(),
               static_cast<unsigned long long>(report_.completed),
               static_cast<double>(report_.completed - completed_told_) / since_line, running, connected,
               connections_.size());
  completed_told_ = report_.completed;
  next_line_ = now + kProgressInterval;
}

bool Fleet::is_over(Time now) const {
  if (signals_seen_ > 0 || all_retired()) return true;
  if (options_.seconds > 0 && now - began_ >= std::chrono::duration<double>(options_.seconds)) return true;
  return options_.until_completed > 0 &&
         report_.completed >= static_cast<std::uint64_t>(options_.until_completed);
}

void Fleet::leave_all() {
  const int signals_before = signals_seen_;
  const Time deadline = Clock::now() + kGoodbyeWait;
  connects_.stop();
  uploads_.stop();
  for (const auto& connection : connections_) {
    connection->machine().leave(options_.rude, Clock::now());
    connection->settle();
  }
  const auto left = [&] {
    return std::ranges::any_of(connections_,
                               [](const auto& connection) { return !connection->machine().retired(); });
  };
  for (Time now = Clock::now(); left() && now < deadline && signals_seen_ == signals_before;
       now = Clock::now()) {
    wait(now);
  }
}

}  // namespace remotist::bench
