// Parses the JSON bodies of requests. What is returned has passed its checks; nothing here touches the
// database.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "core/credits.h"
#include "core/id.h"
#include "core/json_body.h"
#include "core/result.h"
#include "market/store/jobs.h"
#include "market/store/machines.h"

namespace remotist::market {

Result<NewJob> read_new_job(JsonBody body);

Result<NewMachine> read_new_machine(JsonBody body);
// Of an agent: 32 bytes, if it has one.
Result<std::optional<std::string>> read_public_key(JsonBody body);
struct MachinePause {
  std::optional<MachineId> machine;  // a machine may omit its own
  bool paused;
};
Result<MachinePause> read_machine_pause(JsonBody body);

struct TypedCredentials {
  std::string email;
  std::string password;
  std::optional<std::string> invitation;
};
Result<TypedCredentials> read_credentials(JsonBody body, bool may_bring_invitation);
struct PasswordChange {
  std::string old_password;
  std::string new_password;
};
Result<PasswordChange> read_password_change(JsonBody body);

// Of admins.
Result<Credits> read_grant(JsonBody body);
Result<std::int64_t> read_quota_mb(JsonBody body);
Result<std::string> read_ban_reason(JsonBody body);
Result<std::chrono::seconds> read_invitation_lifetime(JsonBody body);

}  // namespace remotist::market
