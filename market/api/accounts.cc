// /user/…: registering and logging in.
#include "market/service/accounts.h"

#include "core/json_body.h"
#include "market/api/job_document.h"
#include "market/api/on_pool.h"
#include "market/api/page.h"
#include "market/api/request_origin.h"
#include "market/api/routes.h"
#include "market/service/passwords.h"
#include "market/service/request_bodies.h"
#include "market/service/subscriber.h"
#include "market/store/caller.h"
#include "market/store/ledger.h"

namespace remotist::market {
namespace {

RegistrationRules registration_rules(const Config& config) {
  return {.policy = registration_policy_named(config.registration).value(),
          .per_address_hour_max = config.registrations_per_address_hour_max,
          .grant = Credits::micro(config.grant_microcredits)};
}

Refusal slow_down() {
  return refuse(Code::rate_limited, "too many people are logging in at this moment: try again in a second");
}

// Hashing is slow on purpose, so its queue is short and full soon: the callers are told to slow down, and
// what was counted for them is not.
template <class Work>
drogon::Task<Result<std::invoke_result_t<Work&>>> hashed(Context& context, PasswordPool::Slot slot,
                                                         const std::vector<Rate>& counted, Work work) {
  PasswordSlot held{context.passwords, std::move(slot)};
  try {
    co_return co_await on_pool(held, std::move(work));
  } catch (const PoolFull&) {
    // Nothing can be awaited in here.
  }
  co_await on_pool(context.database, [&](pg::Connection& db) {
    uncount_attempt(db, counted);
    return true;
  });
  co_return slow_down();
}

nlohmann::json document_of(const StatementPage& statement, const Page& page) {
  nlohmann::json lines = nlohmann::json::array();
  for (const auto& line : statement.lines) {
    lines.push_back({{"transfer", line.transfer},
                     {"reason", line.reason},
                     {"job", or_null(line.job)},
                     {"amount", line.amount.number()},
                     {"at", line.at}});
  }
  return {{"lines", lines}, {"page", page.number}, {"per_page", page.rows}, {"more", statement.more}};
}

}  // namespace

Answer post_user_register(Context& context, Request request) {
  const auto typed = read_credentials(JsonBody{request.http->body()}, true);
  if (!typed) co_return typed.refusal();
  const auto rules = registration_rules(context.config);
  const RequestOrigin origin = origin_of(request);
  auto slot = context.passwords.acquire_slot(subscriber_of(request.client_address));
  if (!slot) co_return slow_down();
  const auto counted = co_await on_pool(context.database, [&](pg::Connection& db) {
    return begin_registration(db, rules, typed->email, origin, typed->invitation);
  });
  if (!counted) co_return counted.refusal();
  const auto hash =
      co_await hashed(context, std::move(*slot), *counted, [&] { return hash_password(typed->password); });
  if (!hash) co_return hash.refusal();
  const auto id = co_await on_pool(context.database, [&](pg::Connection& db) {
    return register_account(db, rules, typed->email, *hash, origin, typed->invitation);
  });
  if (!id) co_return id.refusal();
  co_return Reply::json({{"id", id->text()}, {"email", typed->email}}, 201);
}

Answer post_user_login(Context& context, Request request) {
  const auto typed = read_credentials(JsonBody{request.http->body()}, false);
  if (!typed) co_return typed.refusal();
  const RequestOrigin origin = origin_of(request);
  auto slot = context.passwords.acquire_slot(subscriber_of(request.client_address));
  if (!slot) co_return slow_down();
  const auto attempt = co_await on_pool(
      context.database, [&](pg::Connection& db) { return begin_login(db, typed->email, origin); });
  if (!attempt) co_return attempt.refusal();
  const auto matches = co_await hashed(context, std::move(*slot), attempt->counted, [&] {
    return password_matches(typed->password, attempt->password_hash());
  });
  if (!matches) co_return matches.refusal();
  const auto login = co_await on_pool(context.database, [&](pg::Connection& db) {
    return finish_login(db, *attempt, *matches, origin, std::chrono::seconds{context.config.login_seconds});
  });
  if (!login) co_return login.refusal();
  co_return Reply::json({{"token", login->token}, {"expires_at", login->expires_at}});
}

Answer post_user_logout(Context& context, Request request) {
  const bool ended = co_await on_pool(
      context.database, [&](pg::Connection& db) { return end_login_token(db, request.token_hash); });
  if (!ended) co_return no_valid_token();
  co_return Reply::nothing();
}

Answer post_user_password(Context& context, Request request) {
  const auto typed = read_password_change(JsonBody{request.http->body()});
  if (!typed) co_return typed.refusal();
  const RequestOrigin origin = origin_of(request);
  auto slot = context.passwords.acquire_slot(subscriber_of(request.client_address));
  if (!slot) co_return slow_down();
  const auto attempt = co_await on_pool(context.database, [&](pg::Connection& db) {
    return begin_password_change(db, request.token_hash, origin);
  });
  if (!attempt) co_return attempt.refusal();
  const auto new_hash =
      co_await hashed(context, std::move(*slot), attempt->counted, [&]() -> std::optional<std::string> {
        if (!password_matches(typed->old_password, attempt->password_hash())) return std::nullopt;
        return hash_password(typed->new_password);
      });
  if (!new_hash) co_return new_hash.refusal();
  const auto logins_ended = co_await on_pool(context.database, [&](pg::Connection& db) {
    return finish_password_change(db, request.token_hash, *attempt, *new_hash, origin);
  });
  if (!logins_ended) co_return logins_ended.refusal();
  co_return Reply::json({{"logins_ended", *logins_ended}});
}

Answer get_user(Context& context, Request request) {
  const auto account = co_await on_pool(
      context.database, [&](pg::Connection& db) { return account_of(db, request.token_hash); });
  if (!account) co_return no_valid_token();
  co_return Reply::json({{"id", account->id.text()},
                         {"email", account->email},
                         {"role", account->role},
                         {"created_at", account->created_at},
                         {"balance", account->balance.number()},
                         {"held", account->held.number()},
                         {"storage_used", account->storage_used},
                         {"storage_quota", account->storage_quota}});
}

Answer get_user_statement(Context& context, Request request) {
  const auto page = page_of(request);
  if (!page) co_return page.refusal();
  co_return co_await on_pool(context.database, [&](pg::Connection& db) -> Result<Reply> {
    const auto statement = statement_of(db, request.token_hash, page->number, page->rows);
    if (!statement) return statement.refusal();
    return Reply::json(document_of(*statement, *page));
  });
}

}  // namespace remotist::market
