// The HTTP server: everything between a socket and a handler. Routing, tokens, request ids, faults turned
// into problem documents, metrics, and an orderly end.
#pragma once

#include "market/api/context.h"

namespace remotist::market {

// Serves until SIGTERM or SIGINT, then answers what is in flight (new requests get 503) and returns. Call
// once.
void serve(Context& context);

}  // namespace remotist::market
