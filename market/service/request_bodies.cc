#include "market/service/request_bodies.h"

#include <utility>

#include "core/digest.h"
#include "core/limits.h"
#include "market/service/checks.h"
#include "market/service/jobs.h"
#include "market/service/new_machine.h"

namespace remotist::market {
namespace {

constexpr std::int64_t kInvitationSeconds = 7 * 86'400;
constexpr std::int64_t kInvitationSecondsMax = 366 * 86'400;

}  // namespace

Result<NewJob> read_new_job(JsonBody body) {
  NewJob job;
  job.name = body.text("name");
  job.exec_file = body.text("exec_file");
  job.cpu_cores = body.integer_or("cpu", job.cpu_cores);
  job.ram_mb = body.integer_or("ram", job.ram_mb);
  job.disc_mb = body.integer_or("disc", job.disc_mb);
  if (const auto seconds = body.integer_if("deadline")) job.deadline = std::chrono::seconds{*seconds};
  job.watched_variables = body.texts_or_none("partial_results_vars");
  job.code = body.text_if("code");
  job.submit = body.flag_or("submit", false);
  job.resumable = body.flag_or("checkpoint", true);
  const auto price = Credits::from_number(body.number_or("price", 1));
  if (auto refusal = body.refusal()) return *refusal;
  if (!price) {
    return refuse(Code::invalid_field,
                  "price must be a number of credits, 0 or more, with at most six decimals", "price");
  }
  job.price = *price;
  if (auto checked = check_new_job(job); !checked) return checked.refusal();
  return job;
}

Result<NewMachine> read_new_machine(JsonBody body) {
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

Result<std::optional<std::string>> read_public_key(JsonBody body) {
  const auto text = body.text_if("public_key");
  if (auto refusal = body.refusal()) return *refusal;
  if (!text) return std::optional<std::string>{};
  auto key = bytes_of_base64url(*text, SigningKey::kPublicBytes);
  if (key) return key;
  return refuse(Code::invalid_field, "public_key must be the base64url text of an Ed25519 key's 32 bytes",
                "public_key");
}

Result<MachinePause> read_machine_pause(JsonBody body) {
  const auto machine = body.text_if("machine");
  const auto state = body.text("state");
  if (auto refusal = body.refusal()) return *refusal;
  const auto id = machine ? MachineId::parse(*machine) : std::nullopt;
  if (machine && !id) return refuse(Code::invalid_field, "machine must be a machine's id", "machine");
  if (state != "free" && state != "busy")
    return refuse(Code::invalid_field, "state must be free or busy", "state");
  return MachinePause{id, state == "busy"};
}

Result<TypedCredentials> read_credentials(JsonBody body, bool may_bring_invitation) {
  TypedCredentials typed{body.text("email"), body.text("password"), {}};
  if (may_bring_invitation) typed.invitation = body.text_if("invitation");
  if (auto refusal = body.refusal()) return *refusal;
  if (auto checked = check_email(typed.email); !checked) return checked.refusal();
  if (auto checked = check_password(typed.password); !checked) return checked.refusal();
  return typed;
}

Result<PasswordChange> read_password_change(JsonBody body) {
  PasswordChange change{body.text("old"), body.text("new")};
  if (auto refusal = body.refusal()) return *refusal;
  if (auto checked = check_password(change.new_password, "new"); !checked) return checked.refusal();
  return change;
}

Result<Credits> read_grant(JsonBody body) {
  const auto amount = Credits::from_number(body.number_or("credits", 0));
  if (auto refusal = body.refusal()) return *refusal;
  if (amount && amount->micro() > 0) return *amount;
  return refuse(Code::invalid_field, "credits must be a number above 0 with at most six decimals", "credits");
}

Result<std::int64_t> read_quota_mb(JsonBody body) {
  const auto megabytes = body.integer_or("megabytes", -1);
  if (auto refusal = body.refusal()) return *refusal;
  if (auto checked = check_range("megabytes", megabytes, 0, limits::kQuotaMbMax, "MB"); !checked)
    return checked.refusal();
  return megabytes;
}

Result<std::string> read_ban_reason(JsonBody body) {
  auto reason = body.text("reason");
  if (auto refusal = body.refusal()) return *refusal;
  if (auto checked = check_name("reason", reason, limits::kBanReasonBytesMax); !checked)
    return checked.refusal();
  return reason;
}

Result<std::chrono::seconds> read_invitation_lifetime(JsonBody body) {
  const auto seconds = body.integer_or("seconds", kInvitationSeconds);
  if (auto refusal = body.refusal()) return *refusal;
  if (seconds >= 1 && seconds <= kInvitationSecondsMax) return std::chrono::seconds{seconds};
  return refuse(Code::invalid_field, "seconds must be from 1 to " + std::to_string(kInvitationSecondsMax),
                "seconds");
}

}  // namespace remotist::market
