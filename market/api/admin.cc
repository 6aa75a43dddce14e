// /admin/…: what admins do.
#include "market/store/admin.h"

#include "core/digest.h"
#include "core/json_body.h"
#include "market/api/idempotency.h"
#include "market/api/job_document.h"
#include "market/api/machine_document.h"
#include "market/api/on_pool.h"
#include "market/api/page.h"
#include "market/api/request_origin.h"
#include "market/api/routes.h"
#include "market/service/accounts.h"
#include "market/service/audited.h"
#include "market/service/ban_machine.h"
#include "market/service/checks.h"
#include "market/service/disable_account.h"
#include "market/service/request_bodies.h"

namespace remotist::market {
namespace {

constexpr std::size_t kInvitationBytes = 18;

Result<AccountId> account_id_of(const Request& request) {
  const auto id = AccountId::parse(request.path_values.at(0));
  if (!id) return refuse(Code::not_found, "an account's id is a UUID");
  return *id;
}

Answer set_disabled_to(Context& context, Request request, bool disabled) {
  const auto id = account_id_of(request);
  if (!id) co_return id.refusal();
  const AuditEvent event{.action = disabled ? "user_disabled" : "user_enabled", .subject = id->text()};
  const auto done = co_await on_pool(context.database, [&](pg::Connection& db) {
    return as_admin(db, request.token_hash, origin_of(request), event,
                    [&] { return disable_account(db, request.token_hash, *id, disabled); });
  });
  if (!done) co_return done.refusal();
  context.wake_publisher();
  co_return Reply::nothing();
}

Result<MachineId> machine_id_of(const Request& request) {
  const auto id = MachineId::parse(request.path_values.at(0));
  if (!id) return refuse(Code::not_found, "a machine's id is a UUID");
  return *id;
}

nlohmann::json document_of(const AccountPage& listed, const Page& page) {
  nlohmann::json users = nlohmann::json::array();
  for (const auto& account : listed.accounts) {
    users.push_back({{"id", account.id},
                     {"email", account.email},
                     {"role", account.role},
                     {"created_at", account.created_at},
                     {"disabled_at", or_null(account.disabled_at)},
                     {"balance", account.balance.number()}});
  }
  return {{"users", users}, {"page", page.number}, {"per_page", page.rows}, {"more", listed.more}};
}

}  // namespace

Answer get_admin_users(Context& context, Request request) {
  const auto page = page_of(request);
  if (!page) co_return page.refusal();
  co_return co_await on_pool(context.database, [&](pg::Connection& db) -> Result<Reply> {
    const auto listed = list_accounts(db, request.token_hash, page->number, page->rows);
    if (!listed) return listed.refusal();
    return Reply::json(document_of(*listed, *page));
  });
}

Answer post_admin_user_disable(Context& context, Request request) {
  return set_disabled_to(context, std::move(request), true);
}

Answer post_admin_user_enable(Context& context, Request request) {
  return set_disabled_to(context, std::move(request), false);
}

Answer post_admin_user_grant(Context& context, Request request) {
  const auto id = account_id_of(request);
  if (!id) co_return id.refusal();
  const auto idempotency = idempotency_of(request);
  if (!idempotency) co_return idempotency.refusal();
  if (!*idempotency) {
    co_return refuse(Code::invalid_field, "a grant needs an Idempotency-Key, so that it happens once",
                     "Idempotency-Key");
  }
  const auto amount = read_grant(JsonBody{request.http->body()});
  if (!amount) co_return amount.refusal();
  const auto done = co_await on_pool(context.database, [&](pg::Connection& db) {
    return as_admin(
        db, request.token_hash, origin_of(request),
        {.action = "credits_granted", .subject = id->text(), .detail = {{"credits", amount->number()}}},
        [&] { return grant_credits(db, request.token_hash, *id, *amount, (*idempotency)->key); });
  });
  if (!done) co_return done.refusal();
  co_return Reply::nothing();
}

Answer post_admin_user_quota(Context& context, Request request) {
  const auto id = account_id_of(request);
  if (!id) co_return id.refusal();
  const auto megabytes = read_quota_mb(JsonBody{request.http->body()});
  if (!megabytes) co_return megabytes.refusal();
  const auto done = co_await on_pool(context.database, [&](pg::Connection& db) {
    return as_admin(db, request.token_hash, origin_of(request),
                    {.action = "quota_set", .subject = id->text(), .detail = {{"megabytes", *megabytes}}},
                    [&] { return set_quota(db, request.token_hash, *id, *megabytes << 20); });
  });
  if (!done) co_return done.refusal();
  co_return Reply::nothing();
}

Answer get_admin_machines(Context& context, Request request) {
  const auto page = page_of(request);
  if (!page) co_return page.refusal();
  co_return co_await on_pool(context.database, [&](pg::Connection& db) -> Result<Reply> {
    const auto listed = list_all_machines(db, request.token_hash, page->number, page->rows);
    if (!listed) return listed.refusal();
    return Reply::json(document_of(*listed, *page));
  });
}

Answer post_admin_machine_ban(Context& context, Request request) {
  const auto id = machine_id_of(request);
  if (!id) co_return id.refusal();
  const auto reason = read_ban_reason(JsonBody{request.http->body()});
  if (!reason) co_return reason.refusal();
  const auto done = co_await on_pool(context.database, [&](pg::Connection& db) {
    return as_admin(db, request.token_hash, origin_of(request),
                    {.action = "machine_banned", .subject = id->text(), .detail = {{"reason", *reason}}},
                    [&] { return ban_machine(db, request.token_hash, *id, *reason); });
  });
  if (!done) co_return done.refusal();
  context.wake_publisher();
  co_return Reply::nothing();
}

Answer post_admin_machine_unban(Context& context, Request request) {
  const auto id = machine_id_of(request);
  if (!id) co_return id.refusal();
  const auto done = co_await on_pool(context.database, [&](pg::Connection& db) {
    return as_admin(db, request.token_hash, origin_of(request),
                    {.action = "machine_unbanned", .subject = id->text()},
                    [&] { return unban_machine(db, request.token_hash, *id); });
  });
  if (!done) co_return done.refusal();
  co_return Reply::nothing();
}

Answer get_admin_jobs(Context& context, Request request) {
  const auto page = page_of(request);
  if (!page) co_return page.refusal();
  const auto state = state_asked_for(request);
  if (!state) co_return state.refusal();
  co_return co_await on_pool(context.database, [&](pg::Connection& db) -> Result<Reply> {
    const auto listed = list_all_jobs(db, request.token_hash, *state, page->number, page->rows);
    if (!listed) return listed.refusal();
    return Reply::json(document_of(*listed, *page));
  });
}

Answer get_admin_audit(Context& context, Request request) {
  const auto invariants = co_await on_pool(
      context.database, [&](pg::Connection& db) { return audit_as(db, request.token_hash); });
  if (!invariants) co_return invariants.refusal();
  nlohmann::json first_broken = nullptr;
  nlohmann::json rows = nlohmann::json::array();
  for (const auto& invariant : *invariants) {
    rows.push_back({{"invariant", invariant.name}, {"broken_by", or_null(invariant.broken_by)}});
    if (invariant.broken_by && first_broken.is_null()) first_broken = invariant.name;
  }
  co_return Reply::json(
      {{"ok", first_broken.is_null()}, {"first_broken", first_broken}, {"invariants", rows}});
}

Answer post_admin_invitation(Context& context, Request request) {
  const auto lifetime = read_invitation_lifetime(JsonBody{request.http->body()});
  if (!lifetime) co_return lifetime.refusal();
  const std::string code = base64url_of(random_bytes(kInvitationBytes));
  const auto expires_at = co_await on_pool(context.database, [&](pg::Connection& db) {
    return as_admin(db, request.token_hash, origin_of(request),
                    {.action = "invited", .detail = {{"seconds", lifetime->count()}}},
                    [&] { return invite(db, request.token_hash, token_hash(code), *lifetime); });
  });
  if (!expires_at) co_return expires_at.refusal();
  co_return Reply::json({{"invitation", code}, {"expires_at", *expires_at}}, 201);
}

}  // namespace remotist::market
