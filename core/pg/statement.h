// Runs named queries on a Session. Shows libpqxx: include it from store/ sources only.
#pragma once

#include <pqxx/pqxx>
#include <string>
#include <vector>

#include "core/pg/query.h"
#include "core/pg/session.h"

namespace remotist::pg {

// Inside Session::transact() both run in that transaction. Outside, each statement is a transaction of its
// own: read() is tried once more on a fresh connection if the old one was found dead; write() is not, and
// throws CommitInDoubt if the connection was lost while it ran. After a Conflict both run again, as
// Session::transact() does.
pqxx::result read(Session& session, const Query& query, const pqxx::params& params = {});
pqxx::result write(Session& session, const Query& query, const pqxx::params& params = {});

// Several statements in one text, as migrations are; requires a transaction.
void run_script(Session& session, const std::string& text);

// Bytes as a parameter, without a copy; `bytes` must outlive the statement.
pqxx::bytes_view bytes_of(std::string_view bytes);
std::string text_of(const pqxx::field& bytea_field);
// A text[] without nulls.
std::vector<std::string> texts_of(const pqxx::field& array_field);

}  // namespace remotist::pg
