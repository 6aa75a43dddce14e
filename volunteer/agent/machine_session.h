// The agent's side of the volunteer protocol (docs/protocol.md): connects, sends hello, beats and reports
// about attempts, and connects again after the connection is lost.
//
// Has no socket: it acts through SessionIo and is told what happens there, so that a
// simulated network can replace the socket. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "core/protocol.h"
#include "core/result.h"
#include "volunteer/agent/attempts.h"
#include "volunteer/agent/machine_software.h"
#include "volunteer/agent/session_observer.h"
#include "volunteer/connection/clock.h"
#include "volunteer/connection/sent_message.h"

namespace remotist::volunteer {

// What a machine session does outside itself. None of these may call the session back before it returns.
class SessionIo {
 public:
  virtual ~SessionIo() = default;
  virtual void connect(const std::string& token) = 0;  // then on_connected() or on_connect_failed()
  virtual void send(std::string_view text) = 0;
  // on_closed() does not follow.
  virtual void disconnect(bool with_close_frame) = 0;
  // Stores a new machine token where only the machine's owner can read it.
  virtual void store_token(const protocol::Token& token) = 0;
  // The market does not accept the token: requests another one; then on_new_token() or on_token_failed().
  virtual void request_token() = 0;
  // The figures of a beat about the machine; the session adds the attempts and whether it takes jobs.
  virtual protocol::Beat read_gauges() = 0;
};

class MachineSession {
 public:
  // All references must outlive this. `token_life` is how long the token is still valid. `seed` is that of
  // the random delays.
  MachineSession(SessionIo& io, Attempts& attempts, std::string software, std::string token,
                 Clock::duration token_life, std::uint64_t seed);
  // `observer` must outlive this.
  void observe(SessionObserver& observer) { observer_ = &observer; }

  // --- events; after each of these due() may have changed

  void on_connected(Time now);
  void on_connect_failed(int status, std::string_view why, Time now);
  // Call send_pending() after the last of the messages that came together, so that one message can answer
  // them all.
  void on_message(std::string_view text, Time now);
  void on_closed(int code, std::string_view why, Time now);
  void on_new_token(std::string token, Clock::duration token_life);
  // `permanent`: the owner must log in again first.
  void on_token_failed(std::string_view why, bool permanent, Time now);

  // Sends what is queued, as far as the window has room.
  void send_pending(Time now);
  void wake(Time now);
  // When to call wake(). At first: now.
  Time due() const;

  // What the next hello says about this machine.
  void set_software(MachineSoftware software) { machine_software_ = std::move(software); }

  // Whether it asks for more jobs; those that it has go on. The change is sent with a beat at once.
  void set_taking_jobs(bool taking, Time now);
  bool taking_jobs() const { return taking_jobs_; }
  // Hands back all attempts and says goodbye; ended() once the market has acknowledged that, or cannot.
  void leave(std::string_view reason, Time now);

  bool connected() const { return phase_ == Phase::connected || phase_ == Phase::leaving; }
  bool ended() const { return phase_ == Phase::ended; }
  // Why the market rejected this machine permanently; empty when it did not.
  const std::string& rejection() const { return rejection_; }
  const std::string& token() const { return token_; }
  // For `status`: the last failure of the connection; empty while it works.
  const std::string& connection_error() const { return connection_error_; }

 private:
  enum class Phase : std::uint8_t {
    disconnected,
    connecting,
    awaiting_token,
    awaiting_welcome,
    connected,
    leaving,  // connected, and the goodbye is queued or sent
    ended,
  };

  void handle(const protocol::Welcome& welcome, Time now);
  void handle(const protocol::Assign& assign, Time now);
  void handle(const protocol::Stop& stop, Time now);
  void handle(const protocol::HandOver& hand_over, Time now);
  void handle(const protocol::Token& token, Time now);
  void handle(const protocol::Problem& problem, Time now);
  void handle(const protocol::Ack&, Time) {}
  void on_ack(std::int64_t number, Time now);
  void transmit(const protocol::Frame<protocol::FromAgent>& frame, std::string_view text);

  // Sends the message, or defers it until the window has room. A message that cannot be encoded is not sent
  // and counts as rejected.
  void send(protocol::FromAgent body, SentMessage::Kind kind, std::vector<protocol::AttemptName> about,
            Time now);
  void reject(SentMessage::Kind kind, const std::vector<protocol::AttemptName>& about, std::string_view code,
              std::string_view detail, Time now);
  // Sends one message that is queued; false when there is none, or no room for it.
  bool send_next(Time now);
  bool send_answers(Time now);
  bool send_beat(Time now);
  bool send_progress(Time now);
  bool send_records(Time now);
  bool send_outcome(Time now);
  bool send_goodbye(Time now);

  void disconnected(Time reconnect_at);
  Time next_reconnect(Time now);
  // Requests a new token; when that one is refused as well, the machine is rejected.
  void request_token();
  void reject_permanently(std::string_view why);
  void end();

  SessionIo& io_;
  Attempts& attempts_;
  SessionObserver* observer_ = nullptr;
  const std::string software_;
  MachineSoftware machine_software_;
  std::string token_;
  Clock::duration token_life_;
  bool token_is_new_ = false;  // it was requested because the one before was refused
  std::mt19937_64 random_;
  bool taking_jobs_ = true;

  Phase phase_ = Phase::disconnected;
  std::int64_t reconnect_delay_ms_;
  Clock::duration beat_interval_{};
  Clock::duration lease_{};
  std::string rejection_;
  std::string connection_error_;
  std::string goodbye_reason_;

  // of this connection
  MessageWindow window_;
  struct Deferred {
    protocol::FromAgent body;
    SentMessage::Kind kind;
    std::vector<protocol::AttemptName> about;
  };
  std::optional<Deferred> deferred_;  // a message that was larger than the room in the window
  std::int64_t received_ = 0;         // the number of the market's last message
  std::int64_t acked_ = 0;            // the number that was last acknowledged to the market
  bool beat_pending_ = false;
  bool renew_pending_ = false;
  bool goodbye_pending_ = false;

  // Never: Time::max().
  Time reconnect_at_{};
  Time silence_deadline_ = Time::max();  // without a message by then the connection counts as lost
  Time beat_at_ = Time::max();
  Time renew_at_ = Time::max();
  Time progress_not_before_{};
};

}  // namespace remotist::volunteer
