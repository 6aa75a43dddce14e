#include "market/api/routes.h"

namespace remotist::market {
namespace {

using enum Caller;

constexpr Route kRoutes[] = {
    {"GET", "/healthz", anybody, get_healthz},
    {"GET", "/metrics", anybody, get_metrics},
    {"GET", "/openapi.json", anybody, get_openapi},
    {"POST", "/user/register", anybody, post_user_register},
    {"POST", "/user/login", anybody, post_user_login},
    {"POST", "/user/logout", with_token, post_user_logout},
    {"POST", "/user/password", with_token, post_user_password},
    {"GET", "/user/", with_token, get_user},
    {"PUT", "/job/", with_token, put_job},
    {"GET", "/job/{id}", with_token, get_job},
};

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

}  // namespace remotist::market
