// /job/…: creating, viewing and ending jobs.
#include "market/store/jobs.h"

#include "core/json_body.h"
#include "market/api/attempt.h"
#include "market/api/idempotency.h"
#include "market/api/job_document.h"
#include "market/api/on_pool.h"
#include "market/api/page.h"
#include "market/api/request_origin.h"
#include "market/api/routes.h"
#include "market/service/cancel_job.h"
#include "market/service/delete_job.h"
#include "market/service/migrate_job.h"
#include "market/service/request_bodies.h"

namespace remotist::market {
namespace {

AccountLimits limits_of(const Config& config) {
  return {config.jobs_per_account_max, config.uploading_jobs_per_account_max,
          config.submissions_per_account_hour_max};
}

}  // namespace

Answer put_job(Context& context, Request request) {
  const auto idempotency = idempotency_of(request);
  if (!idempotency) co_return idempotency.refusal();
  const auto wanted = read_new_job(JsonBody{request.http->body()});
  if (!wanted) co_return wanted.refusal();
  const auto job = co_await on_pool(context.database, [&](pg::Connection& db) {
    return create_job(db, request.token_hash, *wanted, *idempotency, request.id, limits_of(context.config));
  });
  if (!job) co_return job.refusal();
  context.wake_publisher();
  co_return Reply::json(document_of(*job), 201).with_header("Location", "/job/" + job->id.text());
}

Answer get_job(Context& context, Request request) {
  const auto id = job_id_of(request);
  if (!id) co_return id.refusal();
  const auto job = co_await on_pool(
      context.database, [&](pg::Connection& db) { return view_job(db, request.token_hash, *id); });
  if (!job) co_return job.refusal();
  co_return Reply::json(document_of(*job));
}

Answer get_jobs(Context& context, Request request) {
  const auto page = page_of(request);
  if (!page) co_return page.refusal();
  const auto state = state_asked_for(request);
  if (!state) co_return state.refusal();
  // A list is written on a pool's thread: it may have a hundred kilobytes.
  co_return co_await on_pool(context.database, [&](pg::Connection& db) -> Result<Reply> {
    const auto listed = list_jobs(db, request.token_hash, *state, page->number, page->rows);
    if (!listed) return listed.refusal();
    return Reply::json(document_of(*listed, *page));
  });
}

Answer post_job_submit(Context& context, Request request) {
  const auto id = job_id_of(request);
  if (!id) co_return id.refusal();
  const auto job = co_await on_pool(context.database, [&](pg::Connection& db) -> Result<Job> {
    if (auto done = submit_job(db, request.token_hash, *id, request.id, limits_of(context.config)); !done)
      return done.refusal();
    return view_job(db, request.token_hash, *id);
  });
  if (!job) co_return job.refusal();
  context.wake_publisher();
  context.long_poll.check_now();
  co_return Reply::json(document_of(*job));
}

Answer post_job_cancel(Context& context, Request request) {
  const auto id = job_id_of(request);
  if (!id) co_return id.refusal();
  const auto job = co_await on_pool(context.database, [&](pg::Connection& db) -> Result<Job> {
    if (auto done = cancel_job(db, request.token_hash, *id, origin_of(request)); !done) return done.refusal();
    return view_job(db, request.token_hash, *id);
  });
  if (!job) co_return job.refusal();
  context.long_poll.check_now();
  context.wake_publisher();
  co_return Reply::json(document_of(*job));
}

Answer post_job_migrate(Context& context, Request request) {
  const auto id = job_id_of(request);
  if (!id) co_return id.refusal();
  const auto job = co_await on_pool(context.database, [&](pg::Connection& db) -> Result<Job> {
    if (auto done = migrate_job(db, request.token_hash, *id, origin_of(request)); !done)
      return done.refusal();
    return view_job(db, request.token_hash, *id);
  });
  if (!job) co_return job.refusal();
  context.wake_publisher();
  co_return Reply::json(document_of(*job), 202);
}

Answer delete_job(Context& context, Request request) {
  const auto id = job_id_of(request);
  if (!id) co_return id.refusal();
  const auto gone = co_await on_pool(
      context.database, [&](pg::Connection& db) { return delete_job(db, request.token_hash, *id); });
  if (!gone) co_return gone.refusal();
  context.long_poll.check_now();
  co_return Reply::nothing();
}

}  // namespace remotist::market
