// Runs named queries on a Connection. Includes libpqxx; only for store/ sources.
#pragma once

#include <pqxx/pqxx>
#include <string>
#include <vector>

#include "core/pg/connection.h"
#include "core/pg/query.h"

namespace remotist::pg {

// Inside Connection::transact() both run in that transaction. Outside, each statement is its own transaction:
// read() is retried once on a new connection if the old one was lost; write() is not retried, and throws
// CommitInDoubt if the connection was lost while it ran. After a Conflict both retry as
// Connection::transact() does.
pqxx::result read(Connection& connection, const Query& query, const pqxx::params& params = {});
pqxx::result write(Connection& connection, const Query& query, const pqxx::params& params = {});

// Several statements in one text, as migrations are; requires a transaction.
void run_script(Connection& connection, const std::string& text);

// Bytes as a parameter, without a copy; `bytes` must outlive the statement.
pqxx::bytes_view bytes_of(std::string_view bytes);
std::string text_of(const pqxx::field& bytea_field);
// A text[] without nulls.
std::vector<std::string> texts_of(const pqxx::field& array_field);

}  // namespace remotist::pg
