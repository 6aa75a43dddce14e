// One machine's connection: what it has said and not been answered, what it holds, what waits to be said to
// it. Thread-safe.
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
#include <vector>

#include "core/id.h"
#include "core/limits.h"
#include "core/protocol.h"
#include "core/websocket.h"
#include "market/service/ack_windows.h"
#include "market/service/allowance.h"
#include "market/store/sessions.h"

namespace remotist::market {

// Where a volunteer's messages go. Any thread may call both; neither waits.
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
  std::optional<SessionId> session() const;

  // --- what the machine says

  // Notes a message's number and its acknowledgement. False when it breaks the protocol; the socket is then
  // closed. The first message must be a hello, and the only one.
  [[nodiscard]] bool begin(std::int64_t number, std::int64_t ack, bool hello, std::size_t bytes);
  // The message has been dealt with: acknowledges it, with everything before it.
  void done(std::int64_t number);
  void beat(const protocol::Beat& beat);
  void progress(const protocol::Progress& progress);
  // The CPU time of an attempt as its last beat said it; none when that did not name it.
  std::optional<std::int64_t> cpu_ms(const protocol::AttemptName& attempt) const;
  // Whether an attempt may bring these records now, by limits::kPartial…PerSecondMax; they count then. Of
  // attempts that it does not hold it may say what it likes: they are stale.
  [[nodiscard]] bool may_record(const protocol::Partials& partials, std::size_t bytes);
  // It says goodbye: no more jobs for it.
  void leave();

  // --- what the market says

  void welcome(std::int64_t number, const OpenedMachine& opened, bool taking_jobs,
               std::chrono::milliseconds beat, std::chrono::milliseconds lease);
  void assign(const protocol::Assignment& assignment);
  void accepted(const protocol::AttemptName& attempt);
  // It no longer has the attempt; with a reason it is told so.
  void forget(const protocol::AttemptName& attempt, std::string_view reason = {});
  void token(protocol::Token token);
  void problem(protocol::Problem problem);
  // Its socket is closed.
  void mark_gone() { gone_ = true; }
  bool is_gone() const { return gone_; }
  void close(websocket::CloseCode code, std::string_view reason) { socket_->close(code, reason); }

  // --- what is written down now and then

  struct Heard {
    std::uint64_t beats;
    SeenSession seen;
    std::vector<RunningAttempt> running;
    std::vector<ProgressNote> progress;
  };
  // What was heard; none when all beats are recorded.
  std::optional<Heard> heard() const;
  // They are recorded: the beats up to those, and this progress. What came meanwhile is not forgotten.
  void beats_recorded(std::uint64_t beats);
  void progress_recorded(const std::vector<ProgressNote>& notes);
  // Attempts that it has accepted and does not name for a lease; each once. What it never accepted is
  // forgotten: the workers take it back.
  std::vector<protocol::AttemptName> take_unnamed(std::chrono::milliseconds lease, Clock::time_point now);
  // Nothing at all was heard of it for a whole lease.
  bool is_silent(std::chrono::milliseconds lease, Clock::time_point now) const;
  // It acknowledges nothing although it has been told something for a whole lease.
  bool is_deaf(std::chrono::milliseconds lease, Clock::time_point now) const;

 private:
  struct Held {
    bool accepted;
    Clock::time_point named_at;
    Allowance records{limits::kPartialsPerSecondMax, limits::kPartialsBurstSeconds, named_at};
    Allowance record_bytes{limits::kPartialBytesPerSecondMax, limits::kPartialsBurstSeconds, named_at};
  };
  void say(protocol::FromMarket body);
  void say_what_waits();
  [[nodiscard]] bool broken(websocket::CloseCode code, std::string_view reason);

  const std::shared_ptr<VolunteerSocket> socket_;
  const MachineId machine_;
  const std::string token_hash_;
  const ConnectionId connection_ = ConnectionId::make();

  std::atomic<bool> gone_ = false;

  mutable std::mutex mutex_;
  std::optional<SessionId> session_;
  Inbound inbound_;
  Outbound outbound_;
  Clock::time_point heard_at_ = Clock::now();
  Clock::time_point acknowledged_at_ = Clock::now();  // when it last acknowledged, or had nothing to
  std::map<protocol::AttemptName, Held> held_;
  std::vector<protocol::Assignment> assignments_;                    // that wait for the window
  std::map<std::string, std::vector<protocol::AttemptName>> stops_;  // by reason, the same
  std::uint64_t beats_ = 0;
  std::uint64_t recorded_beats_ = 0;
  bool taking_jobs_ = true;
  std::vector<protocol::Beat::Running> running_;
  std::map<protocol::AttemptName, ProgressNote> progress_;
};

}  // namespace remotist::market
