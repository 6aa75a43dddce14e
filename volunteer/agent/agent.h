// The agent itself: one thread that listens to the market, to its guests, to signals and to its owner.
// Connecting and REST block, so other threads do that.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "volunteer/agent/chunk_cache.h"
#include "volunteer/agent/control.h"
#include "volunteer/agent/hardware.h"
#include "volunteer/agent/jobs.h"
#include "volunteer/agent/session.h"
#include "volunteer/agent/state_folder.h"
#include "volunteer/connection/errands.h"
#include "volunteer/connection/rest.h"
#include "volunteer/connection/socket.h"
#include "volunteer/sandbox/guesthouse.h"

namespace remotist::volunteer {

struct AgentOptions {
  std::filesystem::path runner;              // the program remotist-runner
  std::int64_t cache_bytes_max = 1LL << 30;  // fetched chunks kept for later jobs
  std::int64_t grace_seconds = 30;           // that running jobs get to end after the first stop signal
  Layers layers{};
  bool token_may_be_plaintext = false;  // ws:// is taken also after a log-in over https://
  std::function<void()> on_ready{};     // called once, when jobs can be taken
};

// Deletes what jobs have left. Requires the state folder's lock, and that no Agent is there.
void clear_guests(const StateFolder& state);

class Agent final : private Surroundings, private Hands {
 public:
  // Requires the state folder's lock, a machine with a token in it, and that the stop signals are blocked.
  // Throws std::runtime_error when this machine cannot do what it must.
  Agent(const StateFolder& state, const Login& login, LentMachine machine, AgentOptions options);
  ~Agent() override;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Until a stop signal or `stop`: what runs is finished within the grace, the rest is handed back; a second
  // signal hands back at once. Returns why the market turned this machine away, else nothing.
  std::string run();

 private:
  // An attempt's stay on this machine: its folder, and what goes on in it.
  struct Stay {
    protocol::AttemptName attempt;
    std::shared_ptr<GuestSpec> guest;  // its folder is made by the first errand, and there once that is back
    bool running = false;
    int errands = 0;       // that use the folder
    bool dropped = false;  // it goes once nothing uses it
    std::size_t log_hash = 0;
    bool sending_log = false;
  };

  // Surroundings
  void dial(const std::string& token) override;
  void send(std::string_view text) override;
  void hang_up(bool politely) override;
  void keep_token(const protocol::Token& token) override;
  void ask_for_token() override;
  protocol::Beat readings() override;
  // Hands
  void fetch(const protocol::Assignment& assignment) override;
  void run(const protocol::Assignment& assignment) override;
  void deliver(const protocol::AttemptKey& attempt, const Verdict& verdict) override;
  void drop(const protocol::AttemptName& attempt) override;
  std::int64_t cpu_ms(const protocol::AttemptName& attempt) const override;
  void upload(const protocol::AttemptKey& attempt, const LargeValue& value) override;
  void discard(const protocol::AttemptName& attempt, const std::string& file) override;

  const std::string& stay_of(const protocol::AttemptName& attempt);
  // An errand with REST that uses a stay's folder. `work` runs on another thread, `done` here, unless
  // dropped.
  template <class Work, class Done>
  void with_stay(const std::string& name, Work work, Done done);
  void let_go(const std::string& name);
  void send_logs(Time now);

  void watch(int descriptor, void* what);
  void watch_socket();
  void wait(Time now);
  void take_socket(std::uint32_t events, Time now);
  void dialled_up(Socket::Dialled dialled);
  void take_guests(Time now);
  void stop(bool at_once, std::string_view reason, Time now);
  std::string answer(std::string_view request);

  const StateFolder& state_;
  const Login login_;
  LentMachine machine_;
  const AgentOptions options_;
  Descriptor epoll_;
  Descriptor signals_;
  Control control_;
  ChunkCache cache_;
  Gauges gauges_;
  Guesthouse house_;
  std::unique_ptr<Socket> socket_;
  bool watching_writes_ = false;
  Jobs jobs_;
  Session session_;
  std::map<std::string, Stay> stays_;  // by the guest's name
  std::map<protocol::AttemptName, std::string> current_;
  std::uint64_t stays_made_ = 0;
  std::uint64_t jobs_ended_ = 0;
  bool told_ready_ = false;
  bool stopping_ = false;
  Time leave_at_ = Time::max();
  Time give_up_at_ = Time::max();
  Time logs_at_{};
  std::vector<std::unique_ptr<Rest>> rests_;  // one for each thread of transfers_
  Errands dials_;
  Errands transfers_;  // last: their threads use the others
};

}  // namespace remotist::volunteer
