// The libpqxx side of a Session. For core/pg alone.
#pragma once

#include <bitset>
#include <memory>
#include <pqxx/pqxx>
#include <string>

#include "core/pg/query.h"
#include "core/pg/session.h"
#include "sql_queries.h"

namespace remotist::pg {

class Session::Link {
 public:
  Link(std::string url, SessionOptions options);

  enum class Effect { reads, writes };

  pqxx::result run(const Query& query, const pqxx::params& params, Effect effect);
  void run_script(const std::string& text);

  void begin();
  void commit();
  void rollback() noexcept;

 private:
  // Connects when there is no connection, or when the server has ended the one there is while nobody used it.
  void ensure_open();
  bool was_spoken_to();
  void drop() noexcept;
  pqxx::result execute(pqxx::transaction_base& transaction, const Query& query, const pqxx::params& params);

  const std::string url_;
  const SessionOptions options_;
  std::unique_ptr<pqxx::connection> connection_;
  std::unique_ptr<pqxx::work> transaction_;
  std::bitset<sql::kAllQueries.size()> prepared_;
};

}  // namespace remotist::pg
