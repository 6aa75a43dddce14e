// /job/{id}/events: server-sent events by long polling. The request is held until the job has another version
// than the client knows, and ends with one event; the client then reconnects, as EventSource does by itself.
#include "core/job_state.h"
#include "market/api/attempt.h"
#include "market/api/await_change.h"
#include "market/api/job_document.h"
#include "market/api/on_pool.h"
#include "market/api/routes.h"
#include "market/service/request_fields.h"

namespace remotist::market {
namespace {

// The version that the client has seen: EventSource's header, or ?after= for clients that cannot set it.
Result<std::int64_t> seen_by(const Request& request) {
  std::string text = request.http->getHeader("last-event-id");
  if (text.empty()) text = request.http->getParameter("after");
  if (text.empty()) return 0;
  if (const auto seen = read_sequence(text)) return *seen;
  return refuse(Code::invalid_field, "Last-Event-ID must be the id of an event of this job", "Last-Event-ID");
}

Reply stream_of(std::string text) {
  return Reply{200, std::move(text), "text/event-stream", {{"Cache-Control", "no-store"}}};
}

Reply event_of(const Job& job) {
  return stream_of("retry: 500\nid: " + std::to_string(job.version) +
                   "\nevent: job\ndata: " + Reply::json(document_of(job)).body + "\n\n");
}

}  // namespace

Answer get_job_events(Context& context, Request request) {
  const auto id = job_id_of(request);
  if (!id) co_return id.refusal();
  const auto seen = seen_by(request);
  if (!seen) co_return seen.refusal();
  // Both times by the token: it may have been revoked while the request was held.
  const auto look = [&](pg::Connection& db) { return view_job(db, request.token_hash, *id); };
  auto job = co_await on_pool(context.database, look);
  if (!job) co_return job.refusal();
  if (job->version != *seen) co_return event_of(*job);
  // Nothing more will come; this is how an EventSource is told not to ask again.
  if (ended(job->state)) co_return Reply::nothing();
  if (!co_await await_change(context.long_poll, *job,
                             std::chrono::seconds{context.config.held_seconds_max})) {
    co_return refuse(Code::rate_limited,
                     "more requests wait for events than this market holds: try again in a moment");
  }
  job = co_await on_pool(context.database, look);
  if (!job) co_return job.refusal();
  co_return job->version != *seen ? event_of(*job) : stream_of(": nothing new\n\n");
}

}  // namespace remotist::market
