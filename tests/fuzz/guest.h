// What holds of the frames and messages of a guest whatever a hostile job writes to its socket: nothing that
// comes out of them breaks the protocol. The fuzzer looks for bytes that break it, and the unit tests try
// again all that were found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/limits.h"
#include "core/protocol.h"
#include "core/utf8.h"
#include "volunteer/sandbox/frames.h"
#include "volunteer/sandbox/guest_message.h"

namespace remotist::fuzz {

// The first two bytes choose into which pieces the stream is cut; 0: none.
inline std::vector<volunteer::Frame> guest_frames(std::string_view bytes, std::size_t piece, bool& broken) {
  volunteer::FrameReader reader;
  std::vector<volunteer::Frame> frames;
  while (!bytes.empty()) {
    const auto take = piece == 0 ? bytes.size() : std::min(piece, bytes.size());
    reader.feed(bytes.substr(0, take));
    while (auto frame = reader.next()) frames.push_back(std::move(*frame));
    bytes.remove_prefix(take);
  }
  broken = reader.broken();
  return frames;
}

// What an agent says of a text that a guest said.
inline std::string guest_text_broken_by(const std::string& text) {
  static const protocol::AttemptKey key{{JobId::parse("01940000-0000-7000-8000-000000000001").value(), 1},
                                        "token"};
  const protocol::FromAgent progress =
      protocol::Progress{key, 0.5, clean_text(text, limits::kMessageTextBytesMax)};
  const protocol::FromAgent outcome = protocol::Outcome{.attempt = key,
                                                        .kind = AttemptOutcome::failed,
                                                        .failure_code = FailureCode::r_error,
                                                        .failure_detail = text};
  for (const auto* body : {&progress, &outcome}) {
    const auto said = protocol::text_of(protocol::Frame<protocol::FromAgent>{1, 0, *body});
    if (const auto read = protocol::read_from_agent(said); !read)
      return "the market refuses what a guest said: " + read.refusal().detail;
  }
  return {};
}

struct GuestTexts {
  std::vector<std::string> operator()(const volunteer::Refused& message) const { return {message.message}; }
  std::vector<std::string> operator()(const volunteer::Progressed& message) const {
    return {message.message};
  }
  std::vector<std::string> operator()(const volunteer::GuestRecord& message) const {
    return {message.record.words, message.file};
  }
  std::vector<std::string> operator()(const volunteer::Failed& message) const {
    auto texts = message.traceback;
    texts.push_back(message.message);
    texts.push_back(message.call);
    return texts;
  }
  std::vector<std::string> operator()(const volunteer::CheckpointRefused& message) const {
    return {message.reason};
  }
  std::vector<std::string> operator()(const volunteer::NotResumable& message) const {
    return {message.reason};
  }
  std::vector<std::string> operator()(const volunteer::ResumeFailed& message) const {
    return {message.reason};
  }
  std::vector<std::string> operator()(const auto&) const { return {}; }
};

inline std::string message_broken_by(std::string_view head) {
  const auto message = volunteer::parse_guest_message(head);
  if (!message) return {};
  if (const auto* progress = std::get_if<volunteer::Progressed>(&*message);
      progress != nullptr && !(progress->fraction >= 0 && progress->fraction <= 1))
    return "progress is no fraction";
  const auto texts = std::visit(GuestTexts{}, *message);
  for (const auto& text : texts) {
    if (clean_text(text, text.size()) != text) return "a text that was read is not clean";
  }
  // Reading it back takes longest; all texts are cleaned in one way.
  if (!texts.empty()) {
    if (auto broken = guest_text_broken_by(texts.back()); !broken.empty()) return broken;
  }
  const auto written = volunteer::encode(*message);
  const auto again = volunteer::parse_guest_message(written);
  if (!again || again->index() != message->index())
    return "a message that was parsed cannot be encoded: " + written;
  return volunteer::encode(*again) == written ? "" : "a message parses differently: " + written;
}

// What is wrong with the readers; empty when nothing is.
inline std::string guest_broken_by(std::string_view bytes) {
  if (bytes.empty()) return {};
  const auto piece = static_cast<std::uint8_t>(bytes[0]);
  bytes.remove_prefix(1);
  bool broken_whole = false;
  bool broken_cut = false;
  const auto whole = guest_frames(bytes, 0, broken_whole);
  const auto cut = guest_frames(bytes, std::size_t{1} + piece, broken_cut);
  if (broken_whole != broken_cut || whole.size() != cut.size()) return "the cuts change what is read";
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (whole[i].head != cut[i].head || whole[i].body != cut[i].body) return "the cuts change a frame";
    if (whole[i].head.size() > volunteer::kFrameHeadBytesMax ||
        whole[i].body.size() > volunteer::kFrameBodyBytesMax)
      return "a frame is larger than allowed";
    if (auto broken = message_broken_by(whole[i].head); !broken.empty()) return broken;
  }
  // The bytes alone, too: the fuzzer need not find out how a frame begins.
  return message_broken_by(bytes);
}

}  // namespace remotist::fuzz
