#include "market/api/routes.h"

namespace remotist::market {
namespace {

using enum Caller;

template <FileRole role>
Answer post_role(Context& context, Request request) {
  return post_files(context, std::move(request), role);
}
template <FileRole role>
Answer get_role(Context& context, Request request) {
  return get_files(context, std::move(request), role);
}

constexpr Route kRoutes[] = {
    {"GET", "/", anybody, get_root},
    {"GET", "/docs/", anybody, get_docs},
    {"GET", "/healthz", anybody, get_healthz},
    {"GET", "/metrics", anybody, get_metrics},
    {"GET", "/openapi.json", anybody, get_openapi},
    {"POST", "/user/register", anybody, post_user_register},
    {"POST", "/user/login", anybody, post_user_login},
    {"POST", "/user/logout", with_token, post_user_logout},
    {"POST", "/user/password", with_token, post_user_password},
    {"GET", "/user/", with_token, get_user},
    {"GET", "/user/statement", with_token, get_user_statement},
    {"GET", "/job/", with_token, get_jobs},
    {"PUT", "/job/", with_token, put_job},
    {"GET", "/job/{id}", with_token, get_job},
    {"DELETE", "/job/{id}", with_token, delete_job},
    {"GET", "/job/{id}/code", with_token, get_role<FileRole::code>},
    {"POST", "/job/{id}/code", with_token, post_role<FileRole::code>},
    {"GET", "/job/{id}/data", with_token, get_role<FileRole::data>},
    {"POST", "/job/{id}/data", with_token, post_role<FileRole::data>},
    {"GET", "/job/{id}/output", with_token, get_role<FileRole::output>},
    {"POST", "/job/{id}/output", with_token, post_role<FileRole::output>},
    {"GET", "/job/{id}/files", with_token, get_role<FileRole::made>},
    {"POST", "/job/{id}/files", with_token, post_role<FileRole::made>},
    {"GET", "/job/{id}/log", with_token, get_role<FileRole::log>},
    {"POST", "/job/{id}/log", with_token, post_role<FileRole::log>},
    {"GET", "/job/{id}/error", with_token, get_role<FileRole::error>},
    {"POST", "/job/{id}/error", with_token, post_role<FileRole::error>},
    {"GET", "/job/{id}/partialResults/", with_token, get_partial_results},
    {"GET", "/job/{id}/partialResults/{variable}", with_token, get_partial_result},
    {"POST", "/job/{id}/partialResults/{variable}", with_token, post_partial_result},
    {"GET", "/job/{id}/partialResults/{variable}/history", with_token, get_partial_history},
    {"GET", "/job/{id}/events", with_token, get_job_events},
    {"POST", "/job/{id}/submit", with_token, post_job_submit},
    {"POST", "/job/{id}/cancel", with_token, post_job_cancel},
    {"POST", "/job/{id}/migrate", with_token, post_job_migrate},
    {"GET", "/job/{id}/attempts", with_token, get_job_attempts},
    {"GET", "/job/{id}/checkpoint", with_token, get_job_checkpoints},
    {"POST", "/job/{id}/checkpoint", with_token, post_job_checkpoint},
    {"GET", "/job/{id}/checkpoint/{sequence}", with_token, get_job_checkpoint},
    {"POST", "/job/{id}/checkpoint/note", with_token, post_job_checkpoint_note},
    {"POST", "/job/{id}/resume", with_token, post_job_resume},
    {"POST", "/blob/missing", with_token, post_blob_missing},
    {"PUT", "/blob/{sha256}", with_token, put_blob},
    {"GET", "/blob/{sha256}", with_token, get_blob},
    {"GET", "/machine/", with_token, get_machines},
    {"PUT", "/machine/", with_token, put_machine},
    {"GET", "/machine/{id}", with_token, get_machine},
    {"DELETE", "/machine/{id}", with_token, delete_machine},
    {"POST", "/machine/{id}/startVolunteer", with_token, post_machine_start_volunteer},
    {"GET", "/volunteer/healthz", with_token, get_volunteer_healthz},
    {"POST", "/volunteer/setState", with_token, post_volunteer_set_state},
    {"GET", "/volunteer/key", anybody, get_volunteer_key},
    {"GET", "/admin/users", with_token, get_admin_users},
    {"POST", "/admin/users/{id}/disable", with_token, post_admin_user_disable},
    {"POST", "/admin/users/{id}/enable", with_token, post_admin_user_enable},
    {"POST", "/admin/users/{id}/grant", with_token, post_admin_user_grant},
    {"POST", "/admin/users/{id}/quota", with_token, post_admin_user_quota},
    {"GET", "/admin/machines", with_token, get_admin_machines},
    {"POST", "/admin/machines/{id}/ban", with_token, post_admin_machine_ban},
    {"POST", "/admin/machines/{id}/unban", with_token, post_admin_machine_unban},
    {"GET", "/admin/jobs", with_token, get_admin_jobs},
    {"GET", "/admin/audit", with_token, get_admin_audit},
    {"GET", "/admin/events", with_token, get_admin_events},
    {"POST", "/admin/invitations", with_token, post_admin_invitation},
};

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

}  // namespace remotist::market
