// The messages that markets and workers send each other over RabbitMQ, as docs/queues.md defines them. Each
// is a hint: its receiver acts on what the database says. core/queue_names.h has the queues.
//
// Reading is strict: a message with a field that is unknown, missing or of the wrong type is refused as a
// whole.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/id.h"
#include "core/protocol.h"
#include "core/result.h"

namespace remotist::queue {

// --- jobs.ready, for the workers. sql/queries/job.sql writes it too.

// Queued jobs, and machine sessions that have free capacity; at least one of either.
struct Ready {
  std::vector<JobId> jobs{};
  std::vector<MachineSessionId> machine_sessions{};
};

// --- market.<id>, for the market with the sockets of these machine sessions

struct SessionAttempt {
  MachineSessionId machine_session;
  protocol::AttemptName name;
};

// These attempts have begun: the market makes their tokens and sends their assignments.
struct Assign {
  std::vector<SessionAttempt> attempts;
};

// These attempts have ended: the machines are sent a stop with this reason.
struct Stop {
  std::vector<SessionAttempt> attempts;
  std::string reason;
};

// These attempts have to be handed over: the machines are sent a hand_over with this reason.
struct HandOver {
  std::vector<SessionAttempt> attempts;
  std::string reason;
};

// These machine sessions are over: the sockets are closed with this reason.
struct Close {
  std::vector<MachineSessionId> machine_sessions;
  std::string reason;
};

using ForMarket = std::variant<Assign, Stop, HandOver, Close>;

Result<Ready> read_ready(std::string_view text);
Result<ForMarket> read_for_market(std::string_view text);
std::string text_of(const Ready& ready);
std::string text_of(const ForMarket& message);

}  // namespace remotist::queue
