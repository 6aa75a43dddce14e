// The HTTP server: routing, tokens, request ids, exceptions as problem documents, metrics, and an orderly
// stop.
#pragma once

#include "market/api/context.h"

namespace remotist::market {

// Serves until one of stop_signals(), then answers what is in flight for up to ten seconds (new requests get
// 503), stops the context's pools and returns. Call once.
void serve(Context& context);

}  // namespace remotist::market
