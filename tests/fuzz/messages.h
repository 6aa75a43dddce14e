// What holds of the volunteers' messages whatever a stranger sends. The fuzzer looks for bytes that break it,
// and the unit tests try again all that were found.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/json_body.h"
#include "core/limits.h"
#include "core/protocol.h"
#include "tests/fuzz/documents.h"

namespace remotist::fuzz {

// What is wrong with a frame that was read; `read` reads it again from a text. Empty when nothing is.
template <class Body, class Read>
std::string frame_broken_by(const Result<protocol::Frame<Body>>& frame, Read read) {
  if (!frame) return refusal_broken_by(frame.refusal());
  if (frame->number < 0 || frame->ack < 0) return "a message has a negative number";
  const std::string written = protocol::text_of(*frame);
  // It may have grown: what was left out has its default now, and a text is base64.
  if (written.size() > limits::kFrameBytesMax) return {};
  const Result<protocol::Frame<Body>> again = read(written);
  if (!again) return "what was written is refused: " + again.refusal().detail + ": " + written;
  if (again->body.index() != frame->body.index()) return "what was written is another message: " + written;
  if (again->number != frame->number || again->ack != frame->ack) return "a number changed: " + written;
  if (protocol::text_of(*again) != written) return "what was written reads differently: " + written;
  return {};
}

// A message of one attempt says of which, whether the rest of it can be read or not.
inline std::string malformed_broken_by(const nlohmann::json& document,
                                       const Result<protocol::Frame<protocol::FromAgent>>& agent) {
  const auto malformed = protocol::read_malformed(JsonBody::of(document));
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

// Whether the two are the same: read from a text, and from what was parsed of it.
template <class Body>
bool alike(const Result<protocol::Frame<Body>>& one, const Result<protocol::Frame<Body>>& other) {
  if (one.ok() != other.ok()) return false;
  return one ? protocol::text_of(*one) == protocol::text_of(*other)
             : one.refusal().detail == other.refusal().detail && one.refusal().code == other.refusal().code;
}

inline std::string message_texts_broken_by(std::string_view text) {
  const auto body = [&] { return JsonBody{parse_untrusted(text)}; };
  if (!alike(protocol::read_from_agent(text), protocol::read_from_agent(body())) ||
      !alike(protocol::read_from_market(text), protocol::read_from_market(body())))
    return "a text reads differently once it is parsed";
  const auto malformed = protocol::read_malformed(text);
  const auto again = protocol::read_malformed(body());
  return malformed.has_value() == again.has_value() &&
                 (!malformed || malformed->body.attempt.name == again->body.attempt.name)
             ? ""
             : "a malformed text reads differently once it is parsed";
}

// What is wrong with the two readers; empty when nothing is.
inline std::string messages_broken_by(std::string_view text, bool texts_too) {
  std::string broken;
  if (texts_too) broken = parser_broken_by(text);
  if (texts_too && broken.empty()) broken = message_texts_broken_by(text);
  if (!broken.empty()) return broken;
  auto parsed = parse_untrusted(text);
  // All readers begin with the same JSON parser, so one is enough for a text that it refuses.
  if (!parsed.document) {
    const auto none = protocol::read_from_agent(JsonBody{std::move(parsed)});
    return none ? "a text that is not JSON is a message" : refusal_broken_by(none.refusal());
  }
  const auto agent = protocol::read_from_agent(JsonBody::of(*parsed.document));
  const auto market = protocol::read_from_market(JsonBody::of(*parsed.document));
  if (agent && market && !std::holds_alternative<protocol::Ack>(agent->body))
    return "a message belongs to both sides";
  broken =
      frame_broken_by(agent, [](std::string_view written) { return protocol::read_from_agent(written); });
  if (!broken.empty()) return "from an agent: " + broken;
  broken = malformed_broken_by(*parsed.document, agent);
  if (!broken.empty()) return "from an agent: " + broken;
  broken =
      frame_broken_by(market, [](std::string_view written) { return protocol::read_from_market(written); });
  if (!broken.empty()) return "from a market: " + broken;
  return {};
}

inline std::string messages_broken_by(std::string_view text) {
  return messages_broken_by(text, is_one_in_16(text));
}

}  // namespace remotist::fuzz
