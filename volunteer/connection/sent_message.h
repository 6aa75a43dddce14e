// What a machine session remembers about a message until the market acknowledges it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ack_window.h"
#include "core/protocol.h"
#include "volunteer/connection/clock.h"

namespace remotist::volunteer {

struct SentMessage {
  enum class Kind : std::uint8_t {
    hello,
    accept,
    refuse,
    beat,
    records,  // of watched variables
    outcome,
    no_reply,  // progress, or an outcome of an attempt that is over: nothing depends on its acknowledgement
    renew,
    goodbye,
  };
  Kind kind;
  std::vector<protocol::AttemptName> attempts;  // those that the acknowledgement is about
  Time at;
};

using MessageWindow = SendWindow<SentMessage>;

}  // namespace remotist::volunteer
