#include "tests/support/own_market.h"

#include <cstdlib>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <filesystem>
#include <netinet/in.h>
#include <pqxx/pqxx>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"

namespace remotist::test {
namespace {

// Free a moment ago. Another program may be quicker; then the market does not start and says why.
int free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(bind(probe, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  close(probe);
  return ntohs(address.sin_port);
}

// Only what the market may see: the caller's own settings are for the stack.
std::vector<std::string> environment_of(const std::map<std::string, std::string>& settings) {
  std::vector<std::string> variables;
  for (const char* name : {"PATH", "HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) variables.push_back(std::string{name} + "=" + value);
  }
  for (const auto& [name, value] : settings) variables.push_back("REMOTIST_MARKET_" + name + "=" + value);
  return variables;
}

pid_t start(const std::vector<std::string>& variables) {
  const std::string program = env("REMOTIST_BIN") + "/remotist-market";
  const std::string log = env("REMOTIST_STATE") + "/log/own_market.log";
  std::vector<char*> words;
  words.reserve(variables.size() + 1);
  for (const auto& variable : variables) words.push_back(const_cast<char*>(variable.c_str()));
  words.push_back(nullptr);
  const char* arguments[] = {program.c_str(), "serve", nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  pid_t pid = -1;
  const int failed =
      posix_spawn(&pid, program.c_str(), &files, nullptr, const_cast<char**>(arguments), words.data());
  posix_spawn_file_actions_destroy(&files);
  REQUIRE(failed == 0);
  return pid;
}

}  // namespace

OwnMarket::OwnMarket(const std::map<std::string, std::string>& settings)
    : blob_dir_(std::filesystem::temp_directory_path() / ("remotist-" + database_.name())) {
  const std::string port = std::to_string(free_port());
  url_ = "http://127.0.0.1:" + port;
  std::map<std::string, std::string> all{
      {"DATABASE_URL", database_.url()},
      {"AMQP_URL_FILE", env("REMOTIST_STATE") + "/secret/amqp_url"},
      {"STATEMENT_KEY_FILE", env("REMOTIST_STATE") + "/secret/statement_key"},
      {"BLOB_DIR", blob_dir_},
      {"LISTEN_PORT", port},
      {"REGISTRATIONS_PER_ADDRESS_HOUR_MAX", "1000000"}};
  all.insert(settings.begin(), settings.end());
  pid_ = start(environment_of(all));
  REQUIRE_MESSAGE(eventually([&] { return Http{url_}.get("/healthz").status == 200; }),
                  "see log/own_market.log of the stack");
}

OwnMarket::~OwnMarket() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::filesystem::remove_all(blob_dir_);
}

void OwnMarket::signal(int number) const {
  REQUIRE(kill(pid_, number) == 0);
}

bool OwnMarket::ends() {
  if (!eventually([&] { return waitpid(pid_, nullptr, WNOHANG) == pid_; })) return false;
  pid_ = -1;
  return true;
}

struct LockedTable::Transaction {
  pqxx::connection connection;
  pqxx::work work{connection};
};

LockedTable::LockedTable(const std::string& database_url, const std::string& table)
    : transaction_(new Transaction{.connection = pqxx::connection{database_url}}) {
  transaction_->work.exec("LOCK TABLE " + table + " IN ACCESS EXCLUSIVE MODE");
}

LockedTable::~LockedTable() = default;

}  // namespace remotist::test
