// The agent process: one thread that waits on one epoll for the market's socket, guests, signals and requests
// of `volunteer-agent status` and `stop`. Connecting and REST calls block, so other threads run them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "volunteer/agent/attempts.h"
#include "volunteer/agent/battery.h"
#include "volunteer/agent/chunk_cache.h"
#include "volunteer/agent/control.h"
#include "volunteer/agent/hardware.h"
#include "volunteer/agent/machine_session.h"
#include "volunteer/agent/machine_software.h"
#include "volunteer/agent/state_folder.h"
#include "volunteer/agent/upload_pace.h"
#include "volunteer/connection/background_calls.h"
#include "volunteer/connection/rest.h"
#include "volunteer/connection/socket.h"
#include "volunteer/sandbox/sandbox.h"

namespace remotist::volunteer {

struct AgentOptions {
  std::filesystem::path runner;              // the program remotist-runner
  std::int64_t cache_bytes_max = 1LL << 30;  // fetched chunks kept for later jobs
  std::int64_t grace_seconds = 30;           // how long running jobs may go on after the first stop signal
  Protections protections{};
  double checkpoint_mb_per_s = 16;        // that uploads of checkpoints may send, all together
  std::int64_t battery_percent_min = 20;  // below it jobs are handed over while the battery discharges
  std::int64_t pause_minutes_max = 10;    // then the jobs of a paused agent are handed over
  bool token_may_be_plaintext = false;    // allows ws:// after a login over https://
  std::function<void()> on_ready{};       // called once, when jobs can be run
};

// Deletes the folders of all guests. Requires the state folder's lock, and that no Agent exists.
void clear_guests(const StateFolder& state);

class Agent final : private SessionIo, private AttemptActions {
 public:
  // Requires the state folder's lock, a machine with a token in it, and that the stop signals are blocked.
  // Throws std::runtime_error when the system refuses something that the agent needs.
  Agent(const StateFolder& state, const Login& login, LentMachine machine, AgentOptions options);
  ~Agent() override;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Runs until a stop signal or `stop`: running jobs are handed over from a new checkpoint, and those without
  // checkpoints may end, all within the grace period; a second signal hands back at once. Returns why the
  // market rejected this machine, or "".
  std::string run();

 private:
  // An attempt's folder and guest on this machine.
  struct LocalAttempt {
    protocol::AttemptName attempt;
    std::shared_ptr<GuestSpec> guest;  // its folder is made by the first transfer, before that completes
    bool running = false;
    bool has_run = false;
    bool frozen = false;
    int transfers = 0;     // that use the folder
    bool dropped = false;  // to be deleted when it neither runs nor has transfers
    std::size_t log_hash = 0;
    bool sending_log = false;
    std::shared_ptr<UploadControl> uploads = std::make_shared<UploadControl>();  // of checkpoints
  };

  // SessionIo
  void connect(const std::string& token) override;
  void send(std::string_view text) override;
  void disconnect(bool with_close_frame) override;
  void store_token(const protocol::Token& token) override;
  void request_token() override;
  protocol::Beat read_gauges() override;
  // AttemptActions
  bool has_room(std::size_t attempts) override;
  void fetch(const protocol::Assignment& assignment, const std::vector<SkippedCheckpoint>& skipped) override;
  void run(const protocol::Assignment& assignment) override;
  void set_frozen(const protocol::AttemptName& attempt, bool frozen) override;
  void stop_run(const protocol::AttemptName& attempt) override;
  void deliver(const protocol::AttemptKey& attempt, const Verdict& verdict) override;
  void drop(const protocol::AttemptName& attempt) override;
  std::int64_t cpu_ms(const protocol::AttemptName& attempt) const override;
  void upload(const protocol::AttemptKey& attempt, const LargeValue& value) override;
  void discard(const protocol::AttemptName& attempt, const std::string& file) override;
  // CheckpointActions
  void request_checkpoint(const protocol::AttemptName& attempt, bool full) override;
  void upload_checkpoint(const protocol::AttemptKey& attempt, const CheckpointKeeping::Taken& taken) override;
  void cancel_upload(const protocol::AttemptName& attempt) override;
  void hurry_uploads(const protocol::AttemptName& attempt) override;
  void record_checkpoint(const protocol::AttemptKey& attempt, CheckpointRecord record) override;
  void confirm_checkpoint(const protocol::AttemptName& attempt, std::uint64_t number) override;
  void discard_checkpoint(const protocol::AttemptName& attempt, const std::filesystem::path& file) override;
  void send_note(const protocol::AttemptKey& attempt, const CheckpointNote& note) override;
  void report_resume(const protocol::AttemptKey& attempt, const ResumeReport& report) override;

  // The name of the attempt's guest; adds a LocalAttempt when there is none.
  const std::string& guest_of(const protocol::AttemptName& attempt);
  LocalAttempt* local_of(const protocol::AttemptName& attempt);
  // Starts a transfer that uses the folder of a LocalAttempt. `work` runs on a thread of `on`, then `done` on
  // this one, unless the attempt was dropped meanwhile.
  template <class Work, class Done>
  void start_transfer(BackgroundCalls& on, const std::string& guest, Work work, Done done) {
    ++local_attempts_.at(guest).transfers;
    auto& rests = &on == &transfers_ ? rests_ : checkpoint_rests_;
    on.start([this, &rests, guest, work = std::move(work),
              done = std::move(done)](std::size_t thread) mutable -> BackgroundCalls::Completion {
      auto result = work(*rests[thread]);
      return [this, guest, result = std::move(result), done = std::move(done)]() mutable {
        auto& local = local_attempts_.at(guest);
        --local.transfers;
        if (local.dropped) return delete_if_unused(guest);
        done(local, std::move(result));
      };
    });
  }
  // Ends what the guest does; its folder is deleted when nothing uses it.
  void forget_guest(const std::string& guest);
  void delete_if_unused(const std::string& guest);
  void cancel_uploads(LocalAttempt& local);
  void send_logs(Time now);

  void add_to_epoll(int descriptor, void* what);
  void flush_socket();
  void wait(Time now);
  void read_socket(std::uint32_t events, Time now);
  void on_connect_result(Socket::ConnectResult result);
  void handle_guest_events(Time now);
  void stop(bool at_once, std::string_view reason, Time now);
  void check_battery(Time now);
  void on_battery(const std::optional<Battery>& battery, Time now);
  void pause(Time now);
  void unpause(Time now);
  // Stops processes that were forked while the others were stopped.
  void freeze_again();
  bool takes_jobs() const { return !stopping_ && !battery_low_ && !attempts_.is_paused(); }
  static std::size_t attempts_max(const LentMachine& machine);
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
  Sandbox sandbox_;
  std::unique_ptr<Socket> socket_;
  bool waits_for_writes_ = false;  // epoll reports when socket_ can be written to
  Attempts attempts_;
  MachineSession session_;
  std::map<std::string, LocalAttempt> local_attempts_;   // by the guest's name
  std::map<protocol::AttemptName, std::string> guests_;  // of attempts that are not dropped
  std::uint64_t guests_named_ = 0;
  std::uint64_t jobs_ended_ = 0;
  bool is_ready_ = false;
  bool stopping_ = false;
  bool battery_low_ = false;  // until it charges
  Time battery_at_{};         // when to look at it
  Time pause_ends_at_ = Time::max();
  Time leave_at_ = Time::max();
  Time exit_at_ = Time::max();  // even if the market has not acknowledged the goodbye
  Time logs_at_{};
  MachineSoftware software_;  // as of the last connection
  UploadPace upload_pace_;
  std::vector<std::unique_ptr<Rest>> rests_;             // one for each thread of transfers_
  std::vector<std::unique_ptr<Rest>> checkpoint_rests_;  // likewise
  BackgroundCalls connects_;
  BackgroundCalls checkpoint_transfers_;
  BackgroundCalls transfers_;  // last: their threads use the others
};

}  // namespace remotist::volunteer
