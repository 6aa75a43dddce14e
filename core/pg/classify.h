// Maps libpqxx's exceptions to those of error.h. Private to core/pg.
#pragma once

namespace remotist::pg {

// What had been sent when the connection failed; decides whether a commit is in doubt.
enum class Phase { connecting, in_transaction, single_read, single_write, committing };

// Rethrows the exception in flight as a pg::Fault. Requires one.
[[noreturn]] void classify(Phase phase);

// Whether the exception in flight says that the server is read-only: it was demoted. Requires an exception.
bool server_is_read_only();

}  // namespace remotist::pg
