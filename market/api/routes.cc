#include "market/api/routes.h"

namespace remotist::market {
namespace {

constexpr Route kRoutes[] = {
    {"GET", "/healthz", get_healthz},
    {"GET", "/metrics", get_metrics},
    {"GET", "/openapi.json", get_openapi},
    {"POST", "/user/register", post_user_register},
    {"POST", "/user/login", post_user_login},
    {"PUT", "/job/", put_job},
    {"GET", "/job/{id}", get_job},
};

}  // namespace

std::span<const Route> routes() {
  return kRoutes;
}

}  // namespace remotist::market
