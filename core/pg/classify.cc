#include "core/pg/classify.h"

#include <pqxx/pqxx>
#include <string>
#include <string_view>

#include "core/pg/error.h"

namespace remotist::pg {
namespace {

// With verbose errors libpq adds a line of its own for each detail; libpqxx shows it no other way.
std::string constraint_in(std::string_view message) {
  constexpr std::string_view kMark = "CONSTRAINT NAME:";
  const auto mark = message.find(kMark);
  if (mark == std::string_view::npos) return {};
  auto rest = message.substr(mark + kMark.size());
  rest = rest.substr(0, rest.find('\n'));
  const auto first = rest.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string{} : std::string{rest.substr(first)};
}

[[noreturn]] void throw_lost(Phase phase, const std::string& what) {
  if (phase == Phase::single_write || phase == Phase::committing) throw CommitInDoubt{what};
  throw Unavailable{what};
}

// The server closes the connection with these errors; the statement may have been executed.
bool ends_connection(std::string_view sqlstate) {
  return sqlstate.starts_with("57P") || sqlstate.starts_with("08");
}

// The statement was not executed: it timed out, memory, disc or connections ran out, or the server is
// read-only.
bool may_work_later(std::string_view sqlstate) {
  return sqlstate == "57014" || sqlstate.starts_with("53") || sqlstate == "25006";
}

}  // namespace

void classify(Phase phase) {
  try {
    throw;
  } catch (const Fault&) {
    throw;
  } catch (const pqxx::in_doubt_error& fault) {
    throw CommitInDoubt{fault.what()};
  } catch (const pqxx::statement_completion_unknown& fault) {
    throw CommitInDoubt{fault.what()};
  } catch (const pqxx::transaction_rollback& fault) {
    throw Conflict{fault.what()};
  } catch (const pqxx::integrity_constraint_violation& fault) {
    throw ConstraintViolated{constraint_in(fault.what()), fault.what()};
  } catch (const pqxx::broken_connection& fault) {
    throw_lost(phase, fault.what());
  } catch (const pqxx::sql_error& fault) {
    if (may_work_later(fault.sqlstate())) throw Unavailable{fault.what()};
    if (ends_connection(fault.sqlstate())) throw_lost(phase, fault.what());
    throw QueryFailed{fault.what()};
  } catch (const pqxx::failure& fault) {
    throw QueryFailed{fault.what()};
  }
}

bool server_is_read_only() {
  try {
    throw;
  } catch (const pqxx::sql_error& fault) {
    return fault.sqlstate() == "25006";
  } catch (...) {
    return false;
  }
}

}  // namespace remotist::pg
