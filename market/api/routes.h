// Every route of the market, in one table. openapi.json describes the same routes; a test compares the two.
#pragma once

#include <span>
#include <string_view>

#include "market/api/context.h"
#include "market/api/http.h"
#include "market/store/job_files.h"

namespace remotist::market {

using Handler = Answer (*)(Context&, Request);

// Whether a route requires a token. Whether the token is valid, and for what, is checked by the SQL statement
// of the operation.
enum class Caller { anybody, with_token };

struct Route {
  std::string_view method;
  std::string_view path;
  Caller caller;
  Handler handler;
};

std::span<const Route> routes();

// Handlers, one file a subject.
Answer get_root(Context& context, Request request);
Answer get_docs(Context& context, Request request);
Answer get_healthz(Context& context, Request request);
Answer get_metrics(Context& context, Request request);
Answer get_openapi(Context& context, Request request);
Answer post_user_register(Context& context, Request request);
Answer post_user_login(Context& context, Request request);
Answer post_user_logout(Context& context, Request request);
Answer post_user_password(Context& context, Request request);
Answer get_user(Context& context, Request request);
Answer get_user_statement(Context& context, Request request);
Answer get_jobs(Context& context, Request request);
Answer get_job_events(Context& context, Request request);
Answer post_files(Context& context, Request request, FileRole role);
Answer get_files(Context& context, Request request, FileRole role);
Answer get_partial_results(Context& context, Request request);
Answer get_partial_result(Context& context, Request request);
Answer post_partial_result(Context& context, Request request);
Answer get_partial_history(Context& context, Request request);
Answer put_blob(Context& context, Request request);
Answer get_blob(Context& context, Request request);
Answer post_blob_missing(Context& context, Request request);
Answer put_machine(Context& context, Request request);
Answer get_machine(Context& context, Request request);
Answer get_machines(Context& context, Request request);
Answer delete_machine(Context& context, Request request);
Answer post_machine_start_volunteer(Context& context, Request request);
Answer post_volunteer_set_state(Context& context, Request request);
Answer get_volunteer_healthz(Context& context, Request request);
Answer get_volunteer_key(Context& context, Request request);
Answer get_admin_machines(Context& context, Request request);
Answer post_admin_machine_ban(Context& context, Request request);
Answer post_admin_machine_unban(Context& context, Request request);
Answer get_admin_events(Context& context, Request request);
Answer post_admin_user_quota(Context& context, Request request);
Answer post_job_submit(Context& context, Request request);
Answer post_job_cancel(Context& context, Request request);
Answer post_job_migrate(Context& context, Request request);
Answer get_job_attempts(Context& context, Request request);
Answer get_job_checkpoints(Context& context, Request request);
Answer post_job_checkpoint(Context& context, Request request);
Answer get_job_checkpoint(Context& context, Request request);
Answer post_job_checkpoint_note(Context& context, Request request);
Answer post_job_resume(Context& context, Request request);
Answer delete_job(Context& context, Request request);
Answer get_admin_users(Context& context, Request request);
Answer post_admin_user_disable(Context& context, Request request);
Answer post_admin_user_enable(Context& context, Request request);
Answer post_admin_user_grant(Context& context, Request request);
Answer get_admin_jobs(Context& context, Request request);
Answer get_admin_audit(Context& context, Request request);
Answer post_admin_invitation(Context& context, Request request);
Answer put_job(Context& context, Request request);
Answer get_job(Context& context, Request request);

}  // namespace remotist::market
