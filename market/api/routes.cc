#include "market/api/routes.h"

namespace remotist::market {
namespace {

using enum Caller;

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
    {"POST", "/job/{id}/code", with_token, post_job_code},
    {"POST", "/job/{id}/submit", with_token, post_job_submit},
    {"POST", "/job/{id}/cancel", with_token, post_job_cancel},
    {"GET", "/admin/users", with_token, get_admin_users},
    {"POST", "/admin/users/{id}/disable", with_token, post_admin_user_disable},
    {"POST", "/admin/users/{id}/enable", with_token, post_admin_user_enable},
    {"POST", "/admin/users/{id}/grant", with_token, post_admin_user_grant},
    {"GET", "/admin/jobs", with_token, get_admin_jobs},
    {"GET", "/admin/audit", with_token, get_admin_audit},
    {"POST", "/admin/invitations", with_token, post_admin_invitation},
};

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

}  // namespace remotist::market
