// The host as a hostile guest would find it: a folder with the files of the agent, of other people and of
// other jobs, a process, sockets, secrets in the environment. It can tell afterwards what was done to it.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/sandbox_cases/canary.h"

namespace remotist::volunteer::cases {

class World {
 public:
  // `guarded`: nothing here is the real machine's, so that a name server can be added. Sets
  // REMOTIST_CANARY_TOKEN in the environment.
  explicit World(bool guarded);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const std::filesystem::path& guests() const { return guests_; }
  bool guarded() const { return guarded_; }
  // What a guest may know about where to aim: the lines of its file `target`.
  std::map<std::string, std::string> targets() const;
  // What was done to it since the last question, in words.
  std::vector<std::string> harm();
  // Looks whether somebody holds a lock on the file of the host that guests see too.
  void look_for_locks();
  // Has to be called now and then while a guest runs: names are answered here.
  void serve();

 private:
  void write(const std::filesystem::path& path, unsigned mode) const;
  std::map<std::string, std::string> files() const;

  bool guarded_;
  std::string word_;  // stands in every secret
  std::filesystem::path folder_;
  std::filesystem::path host_;
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

// Every process that it has started, directly or not, in order.
std::vector<pid_t> descendants(pid_t ancestor);

}  // namespace remotist::volunteer::cases
