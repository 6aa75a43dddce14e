// The agent's files, in a folder that only its owner can enter:
//
//   login.json     the market's address and the owner's token
//   machine.json   which machine this is, and its token
//   lock           held by the running agent
//   control        its socket for `status` and `stop`
//   log            the log of an agent that runs as a daemon
//   cache/         chunks
//   guests/        one folder for each running job
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/id.h"
#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer {

struct Login {
  std::string url;      // https://market.example, without a slash at the end
  std::string ca_file;  // of a private authority; empty: those of the system
  std::string token;
};

struct LentMachine {
  MachineId id;
  std::string name;
  std::int64_t cpu_cores;
  std::string socket_url{};  // this and the next two: after the first start
  std::string token{};
  std::string token_expires_at{};
};

class StateFolder {
 public:
  // $XDG_STATE_HOME/remotist, or ~/.local/state/remotist, or /var/lib/remotist for root.
  static std::filesystem::path default_path();

  // Makes the folder. Throws std::runtime_error when it cannot be made, or when others may enter it.
  explicit StateFolder(const std::filesystem::path& path);

  // Throw std::runtime_error when the file is there and cannot be read.
  std::optional<Login> login() const;
  std::optional<LentMachine> machine() const;
  // Atomic, even when the machine loses power.
  void store(const Login& login) const;
  void store(const LentMachine& machine) const;

  // Held until the descriptor is closed; none while another agent holds it.
  std::optional<Descriptor> lock() const;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path cache() const { return path_ / "cache"; }
  std::filesystem::path guests() const { return path_ / "guests"; }
  std::filesystem::path log() const { return path_ / "log"; }
  std::filesystem::path control() const { return path_ / "control"; }

 private:
  std::filesystem::path path_;
};

}  // namespace remotist::volunteer
