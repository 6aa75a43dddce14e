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

namespace remotist::market {
namespace {

Result<NewMachine> new_machine_of(std::string_view text) {
  JsonBody body{text};
  NewMachine machine;
  machine.name = body.text("name");
  machine.cpu_cores = body.integer_or("cpu", machine.cpu_cores);
  machine.ram_mb = body.integer_or("ram", machine.ram_mb);
  machine.disc_mb = body.integer_or("disc", machine.disc_mb);
  const auto price = Credits::from_number(body.number_or("price", 1));
  if (auto refusal = body.refusal()) return *refusal;
  if (!price) {
    return refuse(
        Code::invalid_field,
        "price must be a number of credits for an hour of one CPU, 0 or more, with at most six decimals",
        "price");
  }
  machine.price_per_cpu_second = per_cpu_second(*price);
  if (auto checked = check_new_machine(machine); !checked) return checked.refusal();
  return machine;
}

Result<MachineId> machine_id_of(const Request& request) {
  const auto id = MachineId::parse(request.path_values.at(0));
  if (!id) return refuse(Code::not_found, "a machine's id is a UUID");
  return *id;
}

// The body may be left out: an agent without peers needs no key.
Result<std::optional<std::string>> public_key_of(const Request& request) {
  if (request.http->body().empty()) return std::optional<std::string>{};
  JsonBody body{request.http->body()};
  const auto text = body.text_if("public_key");
  if (auto refusal = body.refusal()) return *refusal;
  if (!text) return std::optional<std::string>{};
  auto key = bytes_of_base64url(*text, SigningKey::kPublicBytes);
  if (key) return key;
  return refuse(Code::invalid_field, "public_key must be the base64url text of an Ed25519 key's 32 bytes",
                "public_key");
}

struct SaidState {
  std::optional<MachineId> machine;
  bool paused;
};
Result<SaidState> said_state_of(std::string_view text) {
  JsonBody body{text};
  const auto machine = body.text_if("machine");
  const auto state = body.text("state");
  if (auto refusal = body.refusal()) return *refusal;
  const auto id = machine ? MachineId::parse(*machine) : std::nullopt;
  if (machine && !id) return refuse(Code::invalid_field, "machine must be a machine's id", "machine");
  if (state != "free" && state != "busy")
    return refuse(Code::invalid_field, "state must be free or busy", "state");
  return SaidState{id, state == "busy"};
}

}  // namespace

Answer put_machine(Context& context, Request request) {
  const auto wanted = new_machine_of(request.http->body());
  if (!wanted) co_return wanted.refusal();
  const auto machine = co_await on_pool(
      context.database, [&](pg::Connection& db) { return create_machine(db, request.token_hash, *wanted); });
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
  const auto listed = co_await on_pool(context.database, [&](pg::Connection& db) {
    return list_machines(db, request.token_hash, page->number, page->rows);
  });
  if (!listed) co_return listed.refusal();
  co_return Reply::json(document_of(*listed, *page));
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
  const auto said = said_state_of(request.http->body());
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
