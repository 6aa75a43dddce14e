#include "volunteer/agent/encode.h"

namespace remotist::volunteer {

Result<std::string> encode(const protocol::Frame<protocol::FromAgent>& frame) {
  auto text = text_of(frame);
  if (auto read = protocol::read_from_agent(text); !read) return std::move(read).refusal();
  return text;
}

}  // namespace remotist::volunteer
