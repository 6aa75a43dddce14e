// Turns libpqxx's exceptions into ours (error.h). For core/pg alone.
#pragma once

namespace remotist::pg {

// What had been sent when a fault came, which decides whether it leaves a doubt.
enum class Phase { connecting, in_transaction, single_read, single_write, committing };

// Rethrows the exception in flight. Requires one.
[[noreturn]] void classify(Phase phase);

// True when the exception in flight says that this server will take no writes, now or later: it was demoted.
// Requires one.
bool server_is_read_only();

}  // namespace remotist::pg
