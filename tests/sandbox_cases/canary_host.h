// What a hostile guest may find on its host: files of the agent, of other users and of other jobs, a process,
// sockets, secrets in the environment. Reports afterwards which of them were accessed or changed.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/sandbox_cases/canary.h"

namespace remotist::volunteer::cases {

class CanaryHost {
 public:
  // `guarded`: this process runs under the outer guard (guard.h), so that a name server can be added. Sets
  // REMOTIST_CANARY_TOKEN in the environment.
  explicit CanaryHost(bool guarded);
  ~CanaryHost();
  CanaryHost(const CanaryHost&) = delete;
  CanaryHost& operator=(const CanaryHost&) = delete;

  const std::filesystem::path& guests() const { return guests_; }
  bool guarded() const { return guarded_; }
  // Targets of attacks, which a guest gets in its file `target`.
  std::map<std::string, std::string> targets() const;
  // What was accessed or changed since the last call.
  std::vector<std::string> harm();
  // Checks whether the host's file that guests see, too, is locked.
  void check_locks();
  // Answers DNS requests; call it regularly while a guest runs.
  void serve();

 private:
  void write(const std::filesystem::path& path, unsigned mode) const;
  std::map<std::string, std::string> files() const;

  bool guarded_;
  std::string secret_;  // is in every secret file and variable
  std::filesystem::path folder_;
  std::filesystem::path files_folder_;
  std::filesystem::path guests_;
  std::string address_;
  CanaryProcess process_;
  CanarySegment segment_;
  std::map<std::string, CanarySocket> sockets_;
  std::vector<CanarySocket> name_servers_;
  std::map<std::string, std::string> files_before_;
  std::filesystem::path shared_file_;
  std::vector<std::string> locks_;
};

// All descendants of a process, sorted.
std::vector<pid_t> descendants(pid_t ancestor);

}  // namespace remotist::volunteer::cases
