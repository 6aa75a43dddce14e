#include "core/pg/link.h"

#include <optional>
#include <poll.h>
#include <string_view>

#include "core/log.h"

namespace remotist::pg {
namespace {

// What had been sent when a fault came, which decides whether it leaves a doubt.
enum class Phase { connecting, in_transaction, single_read, single_write, committing };

// With verbose errors libpq adds a line of its own for each detail; this is the only way that libpqxx shows
// it.
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

bool server_is_leaving(std::string_view sqlstate) {
  return sqlstate.starts_with("57P") || sqlstate.starts_with("08") || sqlstate.starts_with("53") ||
         sqlstate == "25006";
}

// Rethrows the exception in flight as one of ours.
[[noreturn]] void classify(Phase phase) {
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
    if (fault.sqlstate() == "57014") throw Unavailable{fault.what()};  // statement_timeout: rolled back
    if (server_is_leaving(fault.sqlstate())) throw_lost(phase, fault.what());
    throw QueryFailed{fault.what()};
  } catch (const pqxx::failure& fault) {
    throw QueryFailed{fault.what()};
  }
}

}  // namespace

Session::Link::Link(std::string url, SessionOptions options) : url_(std::move(url)), options_(options) {}

void Session::Link::drop() noexcept {
  transaction_.reset();
  connection_.reset();
  prepared_.reset();
}

bool Session::Link::was_spoken_to() {
  pollfd socket{connection_->sock(), POLLIN, 0};
  return poll(&socket, 1, 0) > 0;
}

void Session::Link::ensure_open() {
  // A server that speaks while nobody asked is saying goodbye, or has gone. (It may also announce a changed
  // setting; a new connection does no harm then.) Noticed here, before anything is sent, it leaves no doubt
  // about a write.
  if (connection_ && was_spoken_to()) drop();
  if (connection_) return;
  try {
    const auto seconds = std::max<long>(2, options_.connect_timeout.count() / 1000);
    const std::string separator = url_.find('?') == std::string::npos ? "?" : "&";
    connection_ = std::make_unique<pqxx::connection>(
        url_ + separator + "connect_timeout=" + std::to_string(seconds) +
        "&keepalives_idle=10&keepalives_interval=5&keepalives_count=3&tcp_user_timeout=15000" +
        "&options=-c%20statement_timeout%3D" + std::to_string(options_.statement_timeout.count()) +
        "%20-c%20idle_in_transaction_session_timeout%3D30000%20-c%20timezone%3DUTC");
    connection_->set_verbosity(pqxx::error_verbosity::verbose);
  } catch (...) {
    drop();
    classify(Phase::connecting);
  }
}

pqxx::result Session::Link::execute(pqxx::transaction_base& transaction, const Query& query,
                                    const pqxx::params& params) {
  if (!prepared_.test(query.index)) {
    connection_->prepare(query.name.data(), query.text.data());
    prepared_.set(query.index);
  }
  return transaction.exec(pqxx::prepped{query.name.data()}, params);
}

pqxx::result Session::Link::run(const Query& query, const pqxx::params& params, Effect effect) {
  if (transaction_) {
    try {
      return execute(*transaction_, query, params);
    } catch (...) {
      classify(Phase::in_transaction);
    }
  }
  const auto phase = effect == Effect::reads ? Phase::single_read : Phase::single_write;
  for (bool again = effect == Effect::reads;; again = false) {
    ensure_open();
    try {
      pqxx::nontransaction single{*connection_};
      return execute(single, query, params);
    } catch (...) {
      const bool lost = !connection_->is_open();
      if (lost) drop();
      if (lost && again) continue;
      classify(phase);
    }
  }
}

void Session::Link::run_script(const std::string& text) {
  if (!transaction_) throw QueryFailed{"a script needs a transaction"};
  try {
    (void)transaction_->exec(text);
  } catch (...) {
    classify(Phase::in_transaction);
  }
}

void Session::Link::begin() {
  if (transaction_) throw QueryFailed{"a transaction is open already"};
  ensure_open();
  try {
    transaction_ = std::make_unique<pqxx::work>(*connection_);
  } catch (...) {
    drop();
    classify(Phase::connecting);
  }
}

void Session::Link::commit() {
  try {
    transaction_->commit();
    transaction_.reset();
  } catch (...) {
    if (!connection_->is_open()) drop();
    classify(Phase::committing);
  }
}

void Session::Link::rollback() noexcept {
  if (!transaction_) return;
  try {
    transaction_->abort();
  } catch (const std::exception&) {
    // A lost connection has rolled back by itself.
  }
  transaction_.reset();
  if (connection_ && !connection_->is_open()) drop();
}

Session::Session(std::string url, SessionOptions options)
    : link_(std::make_unique<Link>(std::move(url), options)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
void Session::begin() {
  link_->begin();
}
void Session::commit() {
  link_->commit();
}
void Session::rollback() noexcept {
  link_->rollback();
}

}  // namespace remotist::pg
