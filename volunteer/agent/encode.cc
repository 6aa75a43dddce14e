#include "volunteer/agent/encode.h"

#include <algorithm>
#include <variant>

#include "core/limits.h"

namespace remotist::volunteer {
namespace {

// Whether there is nothing in the message but what the market sent, fixed names, and bytes, as in the two
// that every job has: reading them again would take longer than all else that a session does.
bool is_always_readable(const protocol::FromAgent& body) {
  if (std::holds_alternative<protocol::Accept>(body)) return true;
  const auto* outcome = std::get_if<protocol::Outcome>(&body);
  if (outcome == nullptr || !outcome->failure_detail.empty()) return false;
  std::size_t bytes = 0;
  for (const auto& file : outcome->files) bytes += file.bytes.size();
  return bytes <= limits::kOutcomeBytesMax &&
         std::ranges::none_of(outcome->files, [](const auto& file) { return file.role == "files"; });
}

}  // namespace

Result<std::string> encode(const protocol::Frame<protocol::FromAgent>& frame) {
  auto text = text_of(frame);
  if (is_always_readable(frame.body)) return text;
  if (auto read = protocol::read_from_agent(text); !read) return std::move(read).refusal();
  return text;
}

}  // namespace remotist::volunteer
