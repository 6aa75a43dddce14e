// Implementation of Connection on libpqxx. Private to core/pg.
#pragma once

#include <bitset>
#include <memory>
#include <pqxx/pqxx>
#include <string>

#include "core/pg/classify.h"
#include "core/pg/connection.h"
#include "core/pg/query.h"
#include "core/pg/watchdog.h"
#include "sql_queries.h"

namespace remotist::pg {

class Connection::Impl {
 public:
  Impl(std::string url, ConnectionOptions options);
  ~Impl();

  enum class Effect { reads, writes };

  pqxx::result run(const Query& query, const pqxx::params& params, Effect effect);
  void run_script(const std::string& text);

  void begin();
  void commit();
  void rollback() noexcept;

  void interrupt() { guarded_.interrupt(); }

 private:
  // Connects when there is no connection, or when the server has closed an idle one.
  void ensure_open();
  bool has_unexpected_input();
  void drop() noexcept;
  // How long to wait for an answer: the server's statement_timeout and some seconds. Zero: no limit.
  std::chrono::milliseconds answer_timeout() const;
  void prepare(const Query& query);
  pqxx::result execute(pqxx::transaction_base& transaction, const Query& query, const pqxx::params& params);
  pqxx::result run_single(const Query& query, const pqxx::params& params, Effect effect);
  pqxx::result run_single_once(const Query& query, const pqxx::params& params, Effect effect);
  // Drops a connection that the exception in flight shows to be useless, then rethrows it as a pg::Fault.
  [[noreturn]] void fail(Phase phase);

  const std::string url_;
  const ConnectionOptions options_;
  GuardedSocket guarded_;
  std::unique_ptr<pqxx::connection> connection_;
  std::unique_ptr<pqxx::work> transaction_;
  bool statement_failed_ = false;  // in the present transaction
  std::bitset<sql::kAllQueries.size()> prepared_;
};

}  // namespace remotist::pg
