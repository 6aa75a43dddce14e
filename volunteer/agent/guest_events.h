// Passes events of a guest on to the attempt that it runs.
#pragma once

#include "core/protocol.h"
#include "volunteer/agent/attempts.h"
#include "volunteer/connection/clock.h"
#include "volunteer/sandbox/guest.h"

namespace remotist::volunteer {

// Handles every kind of event; a new kind does not compile until it is handled here.
void handle_guest_event(Attempts& attempts, const protocol::AttemptName& name, Event event, Time now);

}  // namespace remotist::volunteer
