// /machine/…: lending machines; and the key by which their statements are checked.
#include "market/service/machines.h"

#include "core/json_body.h"
#include "market/api/job_document.h"
#include "market/api/machine_document.h"
#include "market/api/on_pool.h"
#include "market/api/page.h"
#include "market/api/request_origin.h"
#include "market/api/routes.h"
#include "market/service/remove_machine.h"
#include "market/service/request_bodies.h"

namespace remotist::market {
namespace {

Result<MachineId> machine_id_of(const Request& request) {
  const auto id = MachineId::parse(request.path_values.at(0));
  if (!id) return refuse(Code::not_found, "a machine's id is a UUID");
  return *id;
}

// The body may be left out: an agent without peers needs no key.
Result<std::optional<std::string>> public_key_of(const Request& request) {
  if (request.http->body().empty()) return std::optional<std::string>{};
  return read_public_key(JsonBody{request.http->body()});
}

}  // namespace

Answer put_machine(Context& context, Request request) {
  const auto wanted = read_new_machine(JsonBody{request.http->body()});
  if (!wanted) co_return wanted.refusal();
  const auto machine = co_await on_pool(
      context.database, [&](pg::Connection& db) { return add_machine(db, request.token_hash, *wanted); });
  if (!machine) co_return machine.refusal();
  co_return Reply::json(document_of(*machine), 201).with_header("Location", "/machine/" + machine->id.text());
}

Answer get_machine(Context& context, Request request) {
  const auto id = machine_id_of(request);
  if (!id) co_return id.refusal();
  const auto machine = co_await on_pool(
      context.database, [&](pg::Connection& db) { return view_machine(db, request.token_hash, *id); });
  if (!machine) co_return machine.refusal();
  co_return Reply::json(document_of(*machine));
}

Answer get_machines(Context& context, Request request) {
  const auto page = page_of(request);
  if (!page) co_return page.refusal();
  co_return co_await on_pool(context.database, [&](pg::Connection& db) -> Result<Reply> {
    const auto listed = list_machines(db, request.token_hash, page->number, page->rows);
    if (!listed) return listed.refusal();
    return Reply::json(document_of(*listed, *page));
  });
}

Answer delete_machine(Context& context, Request request) {
  const auto id = machine_id_of(request);
  if (!id) co_return id.refusal();
  const auto gone = co_await on_pool(context.database, [&](pg::Connection& db) {
    return remove_machine(db, request.token_hash, *id, origin_of(request));
  });
  if (!gone) co_return gone.refusal();
  context.wake_publisher();
  co_return Reply::nothing();
}

Answer post_machine_start_volunteer(Context& context, Request request) {
  const auto id = machine_id_of(request);
  if (!id) co_return id.refusal();
  const auto public_key = public_key_of(request);
  if (!public_key) co_return public_key.refusal();
  const std::chrono::seconds lifetime{context.config.machine_token_seconds};
  const auto started = co_await on_pool(context.database, [&](pg::Connection& db) {
    return start_volunteer(db, context.market_key, request.token_hash, *id, lifetime, *public_key);
  });
  if (!started) co_return started.refusal();
  co_return Reply::json({{"token", started->token},
                         {"expires_at", started->expires_at},
                         {"socket_url", context.config.socket_url},
                         {"statement", or_null(started->statement)}});
}

Answer post_volunteer_set_state(Context& context, Request request) {
  const auto said = read_machine_pause(JsonBody{request.http->body()});
  if (!said) co_return said.refusal();
  const auto machine = co_await on_pool(context.database, [&](pg::Connection& db) {
    return pause_machine(db, request.token_hash, said->machine, said->paused);
  });
  if (!machine) co_return machine.refusal();
  co_return Reply::json(document_of(*machine));
}

Answer get_volunteer_healthz(Context& context, Request request) {
  const auto health = co_await on_pool(
      context.database, [&](pg::Connection& db) { return machine_health(db, request.token_hash); });
  if (!health) co_return health.refusal();
  co_return Reply::json({{"idle", health->idle},
                         {"busy", health->busy},
                         {"paused", health->paused},
                         {"offline", health->offline},
                         {"banned", health->banned}});
}

Answer get_volunteer_key(Context& context, Request) {
  co_return Reply::json({{"public_key", base64url_of(context.market_key.public_key())}});
}

}  // namespace remotist::market
