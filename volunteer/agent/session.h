// This machine's side of its connection to the market: connects, says hello, beats, says what became of its
// jobs, and connects again when the connection is gone (docs/protocol.md).
//
// Has no socket of its own: it acts on its Surroundings and is told what happens there, so that a test can be
// them. Not thread-safe.
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
#include "volunteer/agent/jobs.h"
#include "volunteer/connection/window.h"

namespace remotist::volunteer {

// What a session can do. Nothing here calls the session back before it returns.
class Surroundings {
 public:
  virtual ~Surroundings() = default;
  virtual void dial(const std::string& token) = 0;  // then opened() or not_opened()
  virtual void send(std::string_view text) = 0;
  // closed() does not follow. `politely`: with a close frame.
  virtual void hang_up(bool politely) = 0;
  // A new machine token, to be kept where only this machine's owner can read it.
  virtual void keep_token(const protocol::Token& token) = 0;
  // The market no longer accepts the token: get another one; then new_token() or no_token().
  virtual void ask_for_token() = 0;
  // What a beat tells of the machine; the session adds the attempts and whether it takes jobs.
  virtual protocol::Beat readings() = 0;
};

class Session {
 public:
  // All references must outlive this. `token_life` is how long the token is still valid.
  Session(Surroundings& surroundings, Jobs& jobs, std::string token, Clock::duration token_life,
          std::uint64_t seed);

  // --- what happens around it; after each of these due() may have changed

  void opened(Time now);
  void not_opened(int status, std::string_view why, Time now);
  // A message. Call speak() after the last of those that came together, so that they are answered together.
  void heard(std::string_view text, Time now);
  // Says whatever waits to be said, as far as the market takes it.
  void speak(Time now);
  void closed(int code, std::string_view why, Time now);
  void new_token(std::string token, Clock::duration token_life);
  // `for_good`: its owner must do something first.
  void no_token(std::string_view why, bool for_good, Time now);
  void wake(Time now);

  // Whether it asks for more jobs; those that it has go on. Told with a beat at once.
  void take_jobs(bool taking, Time now);
  bool taking_jobs() const { return taking_jobs_; }
  // Gives back all that it holds and leaves; over() once the market has taken note, or cannot.
  void leave(std::string_view reason, Time now);

  // When to call wake(). At first: now.
  Time due() const;
  bool present() const { return phase_ == Phase::present || phase_ == Phase::leaving; }
  bool over() const { return phase_ == Phase::over; }
  // Why the market turned this machine away for good; empty when it did not.
  const std::string& turned_away() const { return turned_away_; }
  const std::string& token() const { return token_; }
  // For status: the last thing that went wrong with the connection, empty while it is well.
  const std::string& trouble() const { return trouble_; }

 private:
  enum class Phase : std::uint8_t { away, dialling, unknown, greeting, present, leaving, over };

  void take(const protocol::Welcome& welcome, Time now);
  void take(const protocol::Assign& assign, Time now);
  void take(const protocol::Stop& stop, Time now);
  void take(const protocol::Token& token, Time now);
  void take(const protocol::Problem& problem, Time now);
  void take(const protocol::Ack&, Time) {}
  void settle(std::int64_t ack, Time now);

  // Says it, or keeps it in `waiting_` until there is room for it. What the market would refuse as malformed
  // is not said, and counts as not done.
  void say(protocol::FromAgent body, Sent::Kind kind, std::vector<protocol::AttemptName> about, Time now);
  void not_done(Sent::Kind kind, const std::vector<protocol::AttemptName>& about, std::string_view code,
                std::string_view detail, Time now);
  // Says one thing that waits; false when nothing does, or when there is no room for it.
  bool say_next(Time now);
  bool say_answers(Time now);
  bool say_beat(Time now);
  bool say_progress(Time now);
  bool say_partials(Time now);
  bool say_outcome(Time now);
  bool say_goodbye(Time now);

  void go_away(Time back);
  Time after_pause(Time now);
  // The token was refused: another one, once; then the machine is turned away.
  void ask_for_token();
  void turn_away(std::string_view why);
  void end();

  Surroundings& surroundings_;
  Jobs& jobs_;
  std::string token_;
  Clock::duration token_life_;
  bool token_is_fresh_ = false;  // it was asked for because the one before was refused
  std::mt19937_64 chance_;
  bool taking_jobs_ = true;

  Phase phase_ = Phase::away;
  std::int64_t pause_ms_;
  Clock::duration beat_{};
  Clock::duration lease_{};
  std::string turned_away_;
  std::string trouble_;
  std::string goodbye_reason_;

  // of this connection
  Window window_;
  struct Waiting {
    protocol::FromAgent body;
    Sent::Kind kind;
    std::vector<protocol::AttemptName> about;
  };
  std::optional<Waiting> waiting_;  // turned out larger than the room that was left
  std::int64_t heard_ = 0;          // the market's last number …
  std::int64_t told_heard_ = 0;     // … and the one that it was last told of
  bool beat_waits_ = false;
  bool renew_waits_ = false;
  bool goodbye_waits_ = false;

  // when something happens; never: Time::max()
  Time back_at_{};
  Time quiet_at_ = Time::max();  // the market is taken for dead
  Time beat_at_ = Time::max();
  Time renew_at_ = Time::max();
  Time progress_at_{};  // not before
};

}  // namespace remotist::volunteer
