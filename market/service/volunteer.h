// The state of one machine's WebSocket: its acknowledgement windows, the attempts it holds, the messages that
// wait to be sent. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/ack_window.h"
#include "core/id.h"
#include "core/limits.h"
#include "core/protocol.h"
#include "core/token_bucket.h"
#include "core/websocket.h"
#include "market/service/open_machine_session.h"

namespace remotist::market {

// The socket of a volunteer. Both functions are thread-safe and do not block.
class VolunteerSocket {
 public:
  virtual ~VolunteerSocket() = default;
  virtual void send(std::string_view text) = 0;
  virtual void close(websocket::CloseCode code, std::string_view reason) = 0;
};

class Volunteer {
 public:
  using Clock = std::chrono::steady_clock;

  Volunteer(std::shared_ptr<VolunteerSocket> socket, MachineId machine, std::string token_hash)
      : socket_(std::move(socket)), machine_(machine), token_hash_(std::move(token_hash)) {}

  MachineId machine() const { return machine_; }
  ConnectionId connection() const { return connection_; }
  const std::string& token_hash() const { return token_hash_; }
  std::optional<MachineSessionId> machine_session() const;

  // --- messages of the machine

  // Checks a message's number and its acknowledgement. False when it violates the protocol; the socket is
  // then closed. The first message must be hello, and no other may be.
  [[nodiscard]] bool begin(std::int64_t number, std::int64_t ack, bool hello, std::size_t bytes);
  // The message was handled: acknowledges it, once all earlier ones were handled.
  void done(std::int64_t number);
  void beat(const protocol::Beat& beat);
  void progress(const protocol::Progress& progress);
  // The CPU time of an attempt as of the last beat; empty when the beat did not name it.
  std::optional<std::int64_t> cpu_ms(const protocol::AttemptName& attempt) const;
  // Whether an attempt may send these records now, by limits::kAttemptRecord…PerSecondMax; if so they are
  // counted. Records of attempts that it does not hold always pass, and are refused as stale later.
  [[nodiscard]] bool may_record(const protocol::WatchedRecords& watched, std::size_t bytes);
  // After goodbye: no more jobs for it.
  void stop_taking_jobs();

  // --- messages of the market

  void welcome(std::int64_t number, const OpenedMachineSession& opened, bool taking_jobs,
               std::chrono::milliseconds beat, std::chrono::milliseconds lease);
  void assign(std::vector<protocol::Assignment> assignments);
  void accepted(const protocol::AttemptName& attempt);
  // The machine no longer holds the attempt; with a reason a stop is sent.
  void forget(const protocol::AttemptName& attempt, std::string_view reason = {});
  // Asks for those of the attempts that the machine holds.
  void hand_over(const std::vector<protocol::AttemptName>& attempts, std::string_view reason);
  void token(protocol::Token token);
  void problem(protocol::Problem problem);
  // Its socket was closed.
  void mark_disconnected() { disconnected_ = true; }
  bool is_disconnected() const { return disconnected_; }
  void close(websocket::CloseCode code, std::string_view reason) { socket_->close(code, reason); }

  // --- what Volunteers records at intervals

  struct Unrecorded {
    std::uint64_t beats;
    SeenMachineSession seen;
    std::vector<RunningAttempt> running;
    std::vector<AttemptProgress> progress;
  };
  // Beats and progress since the last recording; empty when all beats are recorded.
  std::optional<Unrecorded> unrecorded() const;
  // Mark beats up to this count, and this progress, as recorded. Newer ones stay unrecorded.
  void beats_recorded(std::uint64_t beats);
  void progress_recorded(const std::vector<AttemptProgress>& notes);
  // Removes the attempts that its beats have not named for a lease, and returns those that it had accepted.
  // Workers requeue those that it never accepted.
  std::vector<protocol::AttemptName> remove_unnamed(std::chrono::milliseconds lease, Clock::time_point now);
  // It has sent nothing for a whole lease.
  bool is_silent(std::chrono::milliseconds lease, Clock::time_point now) const;
  // It has acknowledged nothing for a whole lease although messages wait for it.
  bool is_stalled(std::chrono::milliseconds lease, Clock::time_point now) const;

 private:
  struct Held {
    bool accepted;
    Clock::time_point named_at;
    TokenBucket records{limits::kAttemptRecordsPerSecondMax,
                        limits::kAttemptRecordsPerSecondMax* limits::kAttemptRecordsBurstSeconds, named_at};
    TokenBucket record_bytes{limits::kAttemptRecordBytesPerSecondMax,
                             limits::kAttemptRecordBytesPerSecondMax* limits::kAttemptRecordsBurstSeconds,
                             named_at};
  };
  void send(protocol::FromMarket body);
  void send_pending();
  [[nodiscard]] bool close_broken(websocket::CloseCode code, std::string_view reason);

  const std::shared_ptr<VolunteerSocket> socket_;
  const MachineId machine_;
  const std::string token_hash_;
  const ConnectionId connection_ = ConnectionId::make();

  std::atomic<bool> disconnected_ = false;

  mutable std::mutex mutex_;
  std::optional<MachineSessionId> session_;
  ReceiveWindow inbound_;
  SendWindow<std::monostate> outbound_;
  Clock::time_point heard_at_ = Clock::now();
  Clock::time_point acknowledged_at_ =
      Clock::now();  // of the last acknowledgement, or of the first message that waits for one
  std::map<protocol::AttemptName, Held> held_;
  std::vector<protocol::Assignment> assignments_;                         // that wait for the outbound window
  std::map<std::string, std::vector<protocol::AttemptName>> stops_;       // by reason; likewise
  std::map<std::string, std::vector<protocol::AttemptName>> hand_overs_;  // by reason; likewise
  std::uint64_t beats_ = 0;
  std::uint64_t recorded_beats_ = 0;
  bool taking_jobs_ = true;
  std::vector<protocol::Beat::Running> running_;
  std::map<protocol::AttemptName, AttemptProgress> progress_;
};

}  // namespace remotist::market
