// An assignment as a row of a query that selects its columns. Includes libpqxx; only for store/ sources.
#pragma once

#include <pqxx/pqxx>
#include <string>

#include "core/protocol.h"

namespace remotist::market {

protocol::AttemptName attempt_name_of(const pqxx::row& row);
protocol::Assignment assignment_of(const pqxx::row& row, std::string token);

}  // namespace remotist::market
