// /user/…: registering and logging in.
#include "market/service/accounts.h"

#include "market/api/json_body.h"
#include "market/api/on_pool.h"
#include "market/api/routes.h"
#include "market/service/passwords.h"
#include "market/store/accounts.h"

namespace remotist::market {
namespace {

struct TypedCredentials {
  std::string email;
  std::string password;
};

Result<TypedCredentials> typed_credentials(const Request& request) {
  JsonBody body{request.http->body()};
  TypedCredentials typed{body.text("email"), body.text("password")};
  if (auto refusal = body.refusal()) return *refusal;
  if (auto checked = check_email(typed.email); !checked) return checked.refusal();
  if (auto checked = check_password(typed.password); !checked) return checked.refusal();
  return typed;
}

// Hashing is slow on purpose, so its queue is short and full soon: the callers are told to slow down.
template <class Work>
drogon::Task<Result<std::invoke_result_t<Work&>>> hashed(Context& context, Work work) {
  try {
    co_return co_await on_pool(context.passwords, std::move(work));
  } catch (const PoolFull&) {
    co_return refuse(Code::rate_limited, "too many people are logging in at this moment: try again in a second");
  }
}

}  // namespace

Answer post_user_register(Context& context, Request request) {
  const auto typed = typed_credentials(request);
  if (!typed) co_return typed.refusal();
  const auto hash = co_await hashed(context, [&] { return hash_password(typed->password); });
  if (!hash) co_return hash.refusal();
  const auto account = co_await on_pool(context.database, [&](pg::Session& db) {
    return register_account(db, typed->email, *hash, Credits::micro(context.config.grant_microcredits));
  });
  if (!account) co_return account.refusal();
  co_return Reply::json({{"id", account->id.text()}, {"email", account->email}}, 201);
}

Answer post_user_login(Context& context, Request request) {
  const auto typed = typed_credentials(request);
  if (!typed) co_return typed.refusal();
  const auto stored =
      co_await on_pool(context.database, [&](pg::Session& db) { return credentials_of(db, typed->email); });
  const auto matches = co_await hashed(context, [&] {
    return password_matches(typed->password, stored ? stored->password_hash : std::string{});
  });
  if (!matches) co_return matches.refusal();
  if (!*matches) co_return refuse(Code::wrong_credentials, "e-mail and password do not match an account");
  const auto session = co_await on_pool(context.database, [&](pg::Session& db) {
    return open_session(db, stored->account, std::chrono::seconds{context.config.session_seconds});
  });
  if (!session) co_return session.refusal();
  co_return Reply::json({{"token", session->token}, {"expires_at", session->expires_at}});
}

}  // namespace remotist::market
