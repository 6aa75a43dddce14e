// The market about itself: /healthz, /metrics, /openapi.json and the page that shows it.
#include "market/api/on_pool.h"
#include "market/api/openapi.h"
#include "market/api/routes.h"
#include "market/store/admin.h"

namespace remotist::market {

// Answers from memory, so that a load balancer may ask as often as it likes. A lost broker degrades the
// market (jobs wait in the outbox), a lost database stops it.
Answer get_healthz(Context& context, Request) {
  const bool stopping = context.health.stopping;
  const bool database = context.health.database_up();
  const bool broker = context.health.broker_up;
  const char* status = stopping ? "stopping" : !database ? "down" : !broker ? "degraded" : "ok";
  co_return Reply::json(
      {{"status", status}, {"database", database ? "up" : "down"}, {"broker", broker ? "up" : "down"}},
      database && !stopping ? 200 : 503);
}

Answer get_metrics(Context& context, Request request) {
  if (!request.from_this_machine) {
    if (request.token_hash.empty()) {
      co_return refuse(Code::forbidden,
                       "metrics are shown to this machine itself, and to admins with their token");
    }
    const auto admin = co_await on_pool(
        context.database, [&](pg::Connection& db) { return check_admin(db, request.token_hash); });
    if (!admin) co_return admin.refusal();
  }
  context.metrics.database_queue.Set(static_cast<double>(context.database.queued()));
  context.metrics.chunk_queue.Set(static_cast<double>(context.chunks.queued()));
  context.metrics.unread_bytes.Set(static_cast<double>(context.answer_budget.reserved()));
  context.metrics.requests_held.Set(static_cast<double>(context.long_poll.waiting()));
  context.metrics.password_queue.Set(static_cast<double>(context.passwords.queued()));
  context.metrics.database_up.Set(context.health.database_up() ? 1 : 0);
  co_return Reply{200, context.metrics.text(), "text/plain; version=0.0.4; charset=utf-8", {}};
}

Answer get_openapi(Context&, Request) {
  co_return Reply{
      200, std::string{openapi_document()}, "application/json", {{"Cache-Control", "max-age=300"}}};
}

Answer get_docs(Context&, Request) {
  co_return Reply{200,
                  std::string{openapi_page()},
                  "text/html; charset=utf-8",
                  {{"Content-Security-Policy", openapi_page_policy()},
                   {"Referrer-Policy", "no-referrer"},
                   {"Cache-Control", "max-age=300"}}};
}

// Browsers keep a 308 for ever unless told otherwise.
Answer get_root(Context&, Request) {
  co_return Reply{308, {}, {}, {{"Location", "/docs/"}, {"Cache-Control", "max-age=300"}}};
}

}  // namespace remotist::market
