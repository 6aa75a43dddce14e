// Migrates a database to the schema embedded in this binary, and checks that it has that schema.
#pragma once

#include <string>
#include <vector>

#include "core/pg/connection.h"

namespace remotist::pg {

// Applies the missing migrations, each in its own transaction. An advisory lock lets only one process migrate
// at a time, so any number may call this at once. Returns the names of the migrations that this call applied.
// Throws SchemaMismatch when it cannot: TimescaleDB is missing, an applied migration differs from ours, or
// the database is newer than this binary.
std::vector<std::string> migrate(const std::string& url);

// Throws SchemaMismatch unless the database has exactly the schema of this binary.
void require_schema(Connection& connection);

// The same, but waits up to a minute for a database that cannot be reached yet: programs start in any order.
void await_schema(const std::string& url);

class SchemaMismatch : public Fault {
 public:
  using Fault::Fault;
};

}  // namespace remotist::pg
