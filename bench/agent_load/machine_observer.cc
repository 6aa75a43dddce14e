#include "bench/agent_load/machine_observer.h"

#include <algorithm>
#include <set>
#include <string>
#include <variant>

#include "core/limits.h"
#include "core/log.h"

namespace remotist::bench {

using protocol::AttemptName;

MachineObserver::MachineObserver(MachineId machine, Report& report, Journal& journal, SimulatedJobs& jobs,
                                 const Attempts& attempts, const Time& now)
    : machine_(machine), report_(report), journal_(journal), jobs_(jobs), attempts_(attempts), now_(now) {}

void MachineObserver::on_connected() {
  welcomed_ = false;
  received_ = acked_ = sent_ = acknowledged_ = 0;
  received_bytes_ = 0;
}

void MachineObserver::on_received(const Result<protocol::Frame<protocol::FromMarket>>& message,
                                  std::size_t bytes) {
  if (!message) return breach("unreadable", message.refusal().detail);
  if (!welcomed_ && !std::holds_alternative<protocol::Welcome>(message->body))
    return breach("before_welcome", "message " + std::to_string(message->number));
  check_number(message->number, bytes);
  std::visit([&](const auto& body) { count(body); }, message->body);
  check_ack(message->ack);
}

void MachineObserver::check_number(std::int64_t number, std::size_t bytes) {
  if (number == 0) return;
  if (number != received_ + 1)
    breach("number", "came " + std::to_string(number) + " after " + std::to_string(received_));
  received_ = number;
  received_bytes_ += bytes;
  if (received_ - acked_ > static_cast<std::int64_t>(limits::kUnackedMessagesMax) ||
      received_bytes_ > limits::kUnackedBytesMax)
    breach("too_much", std::to_string(received_ - acked_) + " messages, " + std::to_string(received_bytes_) +
                           " bytes without acknowledgement");
}

void MachineObserver::check_ack(std::int64_t ack) {
  if (ack > sent_) breach("ack_of_nothing", std::to_string(ack));
  acknowledged_ = std::max(acknowledged_, std::min(ack, sent_));
}

void MachineObserver::count(const protocol::Welcome& welcome) {
  if (welcomed_) return breach("welcome_again", "");
  welcomed_ = true;
  ++report_.welcomes;
  if (welcomed_once_) ++report_.reconnects;
  welcomed_once_ = true;

  std::set<AttemptName> unnamed;
  for (const auto& key : attempts_.keys()) unnamed.insert(key.name);
  for (const auto& name : welcome.stop) {
    stopped(name);
    unnamed.erase(name);
  }
  for (const auto& name : welcome.keep) {
    if (unnamed.erase(name) == 0) breach("kept_unknown", "the welcome keeps " + name.job.text());
  }
  for (const auto& name : unnamed)
    breach("left_out", "the welcome names neither to keep nor to stop " + name.job.text());
}

void MachineObserver::count(const protocol::Assign& assign) {
  for (const auto& job : assign.jobs) {
    report_.count_assigned(now_);
    journal_.assigned(job.attempt.name);
  }
}

void MachineObserver::count(const protocol::Stop& stop) {
  for (const auto& name : stop.attempts) stopped(name);
}

void MachineObserver::stopped(const AttemptName& attempt) {
  ++report_.stopped;
  journal_.stopped(attempt);
}

void MachineObserver::count(const protocol::Problem& problem) {
  if (report_.problems[problem.code]++ < kComplaintsMax)
    log::error("problem", {{"machine", machine_.text()}, {"code", problem.code}, {"detail", problem.detail}});
  if (problem.re <= acknowledged_ || problem.re > sent_) breach("problem_too_late", problem.code);
}

void MachineObserver::on_sent(const protocol::Frame<protocol::FromAgent>& message) {
  sent_ = std::max(sent_, message.number);
  acked_ = message.ack;
  received_bytes_ = 0;
  if (const auto* outcome = std::get_if<protocol::Outcome>(&message.body)) jobs_.outcome_sent(*outcome);
}

void MachineObserver::on_acknowledged(const SentMessage& message) {
  if (message.kind == SentMessage::Kind::refuse) report_.refused += message.attempts.size();
  if (message.kind == SentMessage::Kind::accept) {
    report_.accepted += message.attempts.size();
    for (std::size_t i = 0; i < message.attempts.size(); ++i) report_.accept_to_ack.add(now_ - message.at);
  }
  if (message.kind != SentMessage::Kind::outcome) return;
  for (const auto& name : message.attempts) {
    report_.outcome_to_ack.add(now_ - message.at);
    outcome_acknowledged(name);
  }
}

void MachineObserver::outcome_acknowledged(const AttemptName& attempt) {
  const auto outcome = jobs_.outcome_of(attempt);
  if (outcome == AttemptOutcome::completed) {
    report_.count_completed(now_);
    journal_.acknowledged(attempt);
  }
  if (outcome == AttemptOutcome::failed) ++report_.failed;
  if (outcome == AttemptOutcome::handed_back) ++report_.handed_back;
}

void MachineObserver::breach(std::string_view rule, std::string_view detail) {
  if (report_.breaches[std::string{rule}]++ >= kComplaintsMax) return;
  log::error("breach", {{"machine", machine_.text()}, {"rule", rule}, {"detail", detail}});
}

}  // namespace remotist::bench
