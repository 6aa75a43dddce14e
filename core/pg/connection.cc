#include <algorithm>
#include <poll.h>

#include "core/pg/connection_impl.h"
#include "core/pg/url.h"

namespace remotist::pg {
namespace {

constexpr std::chrono::seconds kGrace{5};

}  // namespace

Connection::Impl::Impl(std::string url, ConnectionOptions options)
    : url_(std::move(url)), options_(options) {}
Connection::Impl::~Impl() {
  drop();
}

void Connection::Impl::drop() noexcept {
  guarded_.closed();
  transaction_.reset();
  connection_.reset();
  prepared_.reset();
}

bool Connection::Impl::has_unexpected_input() {
  pollfd socket{connection_->sock(), POLLIN, 0};
  return poll(&socket, 1, 0) > 0;
}

std::chrono::milliseconds Connection::Impl::answer_timeout() const {
  if (options_.statement_timeout.count() == 0) return std::chrono::milliseconds{0};
  return options_.statement_timeout + kGrace;
}

void Connection::Impl::ensure_open() {
  // Unexpected input means that the server is closing the connection, or has closed it. (It may also report a
  // changed setting; a new connection does no harm then.) Detected before anything is sent, a lost connection
  // never puts a write in doubt.
  if (connection_ && has_unexpected_input()) drop();
  if (connection_) return;
  try {
    const auto seconds = std::max<long>(2, options_.connect_timeout.count() / 1000);
    connection_ = std::make_unique<pqxx::connection>(with_settings(
        url_,
        {{"connect_timeout", std::to_string(seconds)},
         {"keepalives_idle", "10"},
         {"keepalives_interval", "5"},
         {"keepalives_count", "3"},
         {"tcp_user_timeout", "15000"},
         {"application_name", "remotist"},
         {"options",
          "-c statement_timeout=" + std::to_string(options_.statement_timeout.count()) +
              " -c idle_in_transaction_session_timeout=30000 -c timezone=UTC -c jit=off" +
              (options_.durable ? "" : " -c synchronous_commit=off") +
              (options_.by_index
                   ? " -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off -c "
                     "enable_bitmapscan=off -c enable_material=off -c plan_cache_mode=force_generic_plan"
                   : "")}}));
    connection_->set_verbosity(pqxx::error_verbosity::verbose);
    guarded_.opened(connection_->sock());
  } catch (...) {
    drop();
    classify(Phase::connecting);
  }
}

void Connection::Impl::fail(Phase phase) {
  // A demoted server stays reachable, so the connection is dropped: the next one may reach the new primary.
  const bool useless = !connection_->is_open() || server_is_read_only();
  if (useless && !transaction_) drop();
  classify(phase);
}

void Connection::Impl::prepare(const Query& query) {
  if (prepared_.test(query.index)) return;
  connection_->prepare(query.name.data(), query.text.data());
  prepared_.set(query.index);
}

pqxx::result Connection::Impl::execute(pqxx::transaction_base& transaction, const Query& query,
                                       const pqxx::params& params) {
  const GuardedSocket::Waiting waiting{guarded_, answer_timeout()};
  return transaction.exec(pqxx::prepped{query.name.data()}, params);
}

pqxx::result Connection::Impl::run(const Query& query, const pqxx::params& params, Effect effect) {
  if (!transaction_) return run_single(query, params, effect);
  try {
    prepare(query);
    return execute(*transaction_, query, params);
  } catch (...) {
    statement_failed_ = true;
    fail(Phase::in_transaction);
  }
}

pqxx::result Connection::Impl::run_single(const Query& query, const pqxx::params& params, Effect effect) {
  for (int tries = 1;; ++tries) {
    try {
      return run_single_once(query, params, effect);
    } catch (const Conflict&) {
      if (tries == kTriesMax) throw;
    }
  }
}

pqxx::result Connection::Impl::run_single_once(const Query& query, const pqxx::params& params,
                                               Effect effect) {
  Phase phase = Phase::connecting;
  for (bool again = effect == Effect::reads;; again = false) {
    ensure_open();
    try {
      phase = Phase::single_read;  // preparing changes nothing
      {
        const GuardedSocket::Waiting waiting{guarded_, answer_timeout()};
        prepare(query);
      }
      phase = effect == Effect::reads ? Phase::single_read : Phase::single_write;
      pqxx::nontransaction single{*connection_};
      return execute(single, query, params);
    } catch (...) {
      if (again && !connection_->is_open()) {
        drop();
        continue;
      }
      fail(phase);
    }
  }
}

void Connection::Impl::run_script(const std::string& text) {
  if (!transaction_) throw QueryFailed{"a script needs a transaction"};
  try {
    (void)transaction_->exec(text);
  } catch (...) {
    statement_failed_ = true;
    fail(Phase::in_transaction);
  }
}

void Connection::Impl::begin() {
  if (transaction_) throw QueryFailed{"a transaction is open already"};
  ensure_open();
  statement_failed_ = false;
  try {
    const GuardedSocket::Waiting waiting{guarded_, answer_timeout()};
    transaction_ = std::make_unique<pqxx::work>(*connection_);
  } catch (...) {
    drop();
    classify(Phase::connecting);
  }
}

void Connection::Impl::commit() {
  // PostgreSQL answers such a COMMIT with a ROLLBACK, and nobody would notice.
  if (statement_failed_)
    throw QueryFailed{"a statement of this transaction failed, so it cannot be committed"};
  try {
    const GuardedSocket::Waiting waiting{guarded_, answer_timeout()};
    transaction_->commit();
    transaction_.reset();
  } catch (...) {
    fail(Phase::committing);
  }
}

void Connection::Impl::rollback() noexcept {
  if (!transaction_) return;
  try {
    const GuardedSocket::Waiting waiting{guarded_, answer_timeout()};
    transaction_->abort();
  } catch (const std::exception&) {
    // A lost connection has rolled back by itself.
  }
  transaction_.reset();
  if (connection_ && !connection_->is_open()) drop();
}

Connection::Connection(std::string url, ConnectionOptions options)
    : impl_(std::make_unique<Impl>(std::move(url), options)) {}
Connection::~Connection() = default;
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
void Connection::interrupt() {
  impl_->interrupt();
}
void Connection::begin() {
  impl_->begin();
}
void Connection::commit() {
  impl_->commit();
}
void Connection::rollback() noexcept {
  impl_->rollback();
}

}  // namespace remotist::pg
