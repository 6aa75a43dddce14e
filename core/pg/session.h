// One connection to PostgreSQL that mends itself. Not thread-safe: a session belongs to one thread at a time.
//
// Statements are in core/pg/statement.h (it shows libpqxx; only store/ sources include it). This header shows
// none of it, so that service code can take a Session& and group statements into transactions.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "core/pg/error.h"
#include "core/result.h"

namespace remotist::pg {

struct SessionOptions {
  std::chrono::milliseconds connect_timeout{3000};
  // A statement that runs longer is cancelled by the server and fails as Unavailable. Zero: never
  // (migrations).
  std::chrono::milliseconds statement_timeout{10'000};
  // Without it a commit returns before it is on disk: for what may be forgotten after a crash, such as a
  // claim.
  bool durable = true;
  // Only statements that find their rows by index. PostgreSQL keeps the plan that it made when a table was
  // new and small, and would go on reading all of it long after it has grown. Such a statement has one plan,
  // whatever its parameters are, so it is planned once and not at each call.
  bool by_index = false;
};

class Session {
 public:
  // Does not connect: the first statement does.
  explicit Session(std::string url, SessionOptions options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

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

  // Any thread: a statement that waits for the database now fails as if the connection had been lost.
  void interrupt();

  // For core/pg alone.
  class Link;
  Link& link() { return *link_; }

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

  std::unique_ptr<Link> link_;
};

}  // namespace remotist::pg
