// What holds of the volunteers' messages whatever a stranger sends. The fuzzer looks for bytes that break it,
// and the unit tests try again all that were found.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "core/json.h"
#include "core/limits.h"
#include "core/protocol.h"

namespace remotist::fuzz {

// What is wrong with a frame that `read` made of the text; empty when nothing is.
template <class Body, class Read>
std::string frame_broken_by(std::string_view text, const Result<protocol::Frame<Body>>& frame, Read read) {
  if (!frame) return frame.refusal().detail.empty() ? "a refusal says nothing" : "";
  if (text.size() > limits::kFrameBytesMax) return "a text that is too large is read";
  if (frame->number < 0 || frame->ack < 0) return "a message has a negative number";
  const std::string written = protocol::text_of(*frame);
  // It may have grown: what was left out has its default now, and a text is base64.
  if (written.size() > limits::kFrameBytesMax) return {};
  const auto again = read(written);
  if (!again) return "what was written is refused: " + again.refusal().detail + ": " + written;
  if (again->body.index() != frame->body.index()) return "what was written is another message: " + written;
  if (again->number != frame->number || again->ack != frame->ack) return "a number changed: " + written;
  if (protocol::text_of(*again) != written) return "what was written reads differently: " + written;
  return {};
}

// A text of one attempt says of which, whether the rest of it can be read or not.
inline std::string malformed_broken_by(std::string_view text,
                                       const Result<protocol::Frame<protocol::FromAgent>>& agent) {
  const auto malformed = protocol::read_malformed(text);
  if (malformed && (malformed->number < 1 || malformed->ack < 0 || malformed->body.attempt.token.empty()))
    return "the frame of a malformed message is broken";
  if (malformed && malformed->body.cpu_ms.value_or(0) < 0)
    return "a malformed message has a negative CPU time";
  if (!agent) return {};
  const protocol::AttemptKey* key = nullptr;
  if (const auto* progress = std::get_if<protocol::Progress>(&agent->body)) key = &progress->attempt;
  if (const auto* watched = std::get_if<protocol::WatchedRecords>(&agent->body)) key = &watched->attempt;
  if (const auto* outcome = std::get_if<protocol::Outcome>(&agent->body)) key = &outcome->attempt;
  if ((key != nullptr) != malformed.has_value()) return "a message is of one attempt for one reader only";
  if (key != nullptr &&
      (key->name != malformed->body.attempt.name || key->token != malformed->body.attempt.token ||
       agent->number != malformed->number || agent->ack != malformed->ack))
    return "two readers find two attempts, or two numbers";
  return {};
}

// What is wrong with the two readers; empty when nothing is.
inline std::string messages_broken_by(std::string_view text) {
  const auto agent = protocol::read_from_agent(text);
  // All readers begin with the same JSON parser, so one is enough for a text that it refuses.
  if (!json_if_any(text)) return agent ? "a text that is not JSON is a message" : "";
  const auto market = protocol::read_from_market(text);
  if (agent && market && !std::holds_alternative<protocol::Ack>(agent->body))
    return "a message belongs to both sides";
  auto broken = frame_broken_by(text, agent, protocol::read_from_agent);
  if (!broken.empty()) return "from an agent: " + broken;
  broken = malformed_broken_by(text, agent);
  if (!broken.empty()) return "from an agent: " + broken;
  broken = frame_broken_by(text, market, protocol::read_from_market);
  if (!broken.empty()) return "from a market: " + broken;
  return {};
}

}  // namespace remotist::fuzz
