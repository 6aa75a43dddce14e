// A connection to PostgreSQL with its transaction. It reconnects by itself after the server was lost.
//
// Not thread-safe, but for interrupt(): one thread uses a connection at a time. Failures are the exceptions
// of core/pg/error.h. Statements are in core/pg/statement.h, which includes libpqxx and is for store/
// sources; this header does not, so that service code can take a Connection& and group statements into
// transactions.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "core/pg/error.h"
#include "core/result.h"

namespace remotist::pg {

struct ConnectionOptions {
  std::chrono::milliseconds connect_timeout{3000};
  // The server cancels a statement that runs longer, which then fails as Unavailable. Zero: no limit
  // (migrations).
  std::chrono::milliseconds statement_timeout{10'000};
  // False: a commit returns before it is on disc (synchronous_commit=off). For data that may be lost in a
  // crash, such as a claim.
  bool durable = true;
  // True: plan with index scans and nested loops only, and once for all parameters. For connections whose
  // statements all find their rows by index: PostgreSQL would otherwise keep plans made while a table was
  // small, which read the whole table after it has grown.
  bool by_index = false;
};

class Connection {
 public:
  // Does not connect; the first statement does.
  explicit Connection(std::string url, ConnectionOptions options = {});
  ~Connection();
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;

  // Runs `body` in a transaction and commits. A body that returns a refusal (a Result that is not ok) or
  // throws is rolled back. After a Conflict, or when the connection was lost before the commit, the whole
  // body runs again (at most kTriesMax times), so it must have no effect outside the database. A commit in
  // doubt is never tried again.
  template <class Body>
  auto transact(Body&& body) -> std::invoke_result_t<Body&> {
    for (int tries = 1;; ++tries) {
      try {
        return transact_once(body);
      } catch (const Conflict&) {
        if (tries == kTriesMax) throw;
      } catch (const Unavailable&) {
        if (tries == 2) throw;
      }
    }
  }

  static constexpr int kTriesMax = 10;

  // Thread-safe. A statement that is waiting for the server fails as if the connection had been lost.
  void interrupt();

  // Private to core/pg.
  class Impl;
  Impl& impl() { return *impl_; }

 private:
  void begin();
  void commit();
  void rollback() noexcept;

  template <class Body>
  auto transact_once(Body& body) -> std::invoke_result_t<Body&> {
    begin();
    try {
      if constexpr (std::is_void_v<std::invoke_result_t<Body&>>) {
        body();
        commit();
      } else {
        auto result = body();
        if (accepted(result)) {
          commit();
        } else {
          rollback();
        }
        return result;
      }
    } catch (...) {
      rollback();
      throw;
    }
  }

  template <class T>
  static bool accepted(const T&) {
    return true;
  }
  template <class T>
  static bool accepted(const Result<T>& result) {
    return result.ok();
  }

  std::unique_ptr<Impl> impl_;
};

}  // namespace remotist::pg
