// What holds of the frame reader whatever a stranger sends. The fuzzer looks for bytes that break it, and the
// unit tests try again all that were found.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/websocket.h"

namespace remotist::fuzz {

// What a reader made of a stream.
struct Heard {
  std::vector<std::pair<websocket::Opcode, std::string>> messages;
  bool faulted = false;
  websocket::CloseCode fault = websocket::CloseCode::normal;
  bool deaf_after_fault = true;
  bool operator==(const Heard&) const = default;
};

// Feeds the stream in pieces; next_cut() says how long each is, and is at least 1.
template <class NextCut>
Heard hear(std::string_view stream, std::size_t message_bytes_max, NextCut next_cut) {
  Heard heard;
  websocket::FrameReader reader{message_bytes_max};
  std::vector<websocket::Message> messages;
  const auto read = [&](std::string_view bytes) {
    const bool ok = reader.read(bytes, messages);
    if (heard.faulted && (ok || !messages.empty() || reader.fault() != heard.fault))
      heard.deaf_after_fault = false;
    for (auto& each : messages) heard.messages.emplace_back(each.opcode, std::move(each.payload));
    messages.clear();
    heard.faulted = heard.faulted || !ok;
    heard.fault = reader.fault();
  };
  while (!stream.empty()) {
    const std::size_t take = std::min<std::size_t>(stream.size(), next_cut());
    read(stream.substr(0, take));
    stream.remove_prefix(take);
  }
  constexpr std::string_view kPing{"\x89\x80\0\0\0\0", 6};
  if (heard.faulted) read(kPing);
  return heard;
}

// The first byte of an input chooses how large a message may be, the next three the lengths of the pieces.
struct FramesInput {
  std::size_t message_bytes_max = 0;
  std::array<std::size_t, 3> cuts{};
  std::string_view stream;
};

inline FramesInput frames_input(std::string_view bytes) {
  constexpr std::array<std::size_t, 6> kLimits{400, 0, 1, 125, 126, 256 << 10};
  FramesInput input;
  const auto next = [&] {
    const std::uint8_t byte = bytes.empty() ? 0 : static_cast<std::uint8_t>(bytes[0]);
    bytes.remove_prefix(bytes.empty() ? 0 : 1);
    return byte;
  };
  input.message_bytes_max = kLimits[next() % kLimits.size()];
  for (auto& cut : input.cuts) cut = std::size_t{1} + next();
  input.stream = bytes;
  return input;
}

// What is wrong with the reader; empty when nothing is.
inline std::string frames_broken_by(std::string_view bytes) {
  const FramesInput input = frames_input(bytes);
  const std::size_t most = input.message_bytes_max;
  const Heard whole = hear(input.stream, most, [&] { return input.stream.size(); });
  std::size_t at = 0;
  const Heard in_pieces = hear(input.stream, most, [&] { return input.cuts[at++ % input.cuts.size()]; });
  const Heard byte_by_byte = hear(input.stream, most, [] { return 1; });
  if (whole != in_pieces || whole != byte_by_byte) return "the cuts change what is read";
  if (!whole.deaf_after_fault) return "something is taken after a fault";
  if (whole.faulted == (whole.fault == websocket::CloseCode::normal)) return "a fault is not told";

  std::size_t payload_bytes = 0;
  for (const auto& [opcode, payload] : whole.messages) {
    const bool control = opcode >= websocket::Opcode::close;
    if (opcode == websocket::Opcode::continuation) return "a message is a continuation";
    if (payload.size() > (control ? 125 : most)) return "a message is larger than allowed";
    payload_bytes += payload.size();
  }
  // Each message has a head of six bytes at least.
  if (payload_bytes + 6 * whole.messages.size() > input.stream.size()) return "more is read than was sent";
  return {};
}

}  // namespace remotist::fuzz
