// The libpqxx side of a Session. For core/pg alone.
#pragma once

#include <bitset>
#include <memory>
#include <pqxx/pqxx>
#include <string>

#include "core/pg/classify.h"
#include "core/pg/query.h"
#include "core/pg/session.h"
#include "core/pg/watchdog.h"
#include "sql_queries.h"

namespace remotist::pg {

class Session::Link {
 public:
  Link(std::string url, SessionOptions options);
  ~Link();

  enum class Effect { reads, writes };

  pqxx::result run(const Query& query, const pqxx::params& params, Effect effect);
  void run_script(const std::string& text);

  void begin();
  void commit();
  void rollback() noexcept;

  void interrupt() { watched_.interrupt(); }

 private:
  // Connects when there is no connection, or when the server has ended the one there is while nobody used it.
  void ensure_open();
  bool was_spoken_to();
  void drop() noexcept;
  // The server's own limit and then some.
  std::chrono::milliseconds patience() const;
  void prepare(const Query& query);
  pqxx::result execute(pqxx::transaction_base& transaction, const Query& query, const pqxx::params& params);
  pqxx::result run_single(const Query& query, const pqxx::params& params, Effect effect);
  pqxx::result run_single_once(const Query& query, const pqxx::params& params, Effect effect);
  // Notes what the fault in flight says about the connection, then rethrows it as one of ours.
  [[noreturn]] void fail(Phase phase);

  const std::string url_;
  const SessionOptions options_;
  Watched watched_;
  std::unique_ptr<pqxx::connection> connection_;
  std::unique_ptr<pqxx::work> transaction_;
  bool statement_failed_ = false;  // in the present transaction
  std::bitset<sql::kAllQueries.size()> prepared_;
};

}  // namespace remotist::pg
