#include "volunteer/agent/state_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "core/json.h"

namespace remotist::volunteer {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr auto kLogin = "login.json";
constexpr auto kMachine = "machine.json";

[[noreturn]] void fault(const fs::path& path, const char* what) {
  throw std::runtime_error{path.string() + " " + what + ": " + std::strerror(errno)};
}

std::optional<json> read_json(const fs::path& path) {
  std::ifstream file{path};
  if (!file) {
    if (errno == ENOENT) return std::nullopt;
    fault(path, "cannot be read");
  }
  auto document = json_if_any(std::string{std::istreambuf_iterator<char>{file}, {}});
  if (!document || !document->is_object()) {
    throw std::runtime_error{path.string() + " is damaged: delete it, then log in and add the machine again"};
  }
  return document;
}

void write_json(const fs::path& path, const json& document) {
  auto partial = path;
  partial += ".part";
  const Descriptor file{::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)};
  const auto text = document.dump(2) + "\n";
  if (file.get() < 0 || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::fsync(file.get()) != 0 || ::rename(partial.c_str(), path.c_str()) != 0) {
    fault(path, "cannot be written");
  }
  const Descriptor folder{::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (folder.get() >= 0) ::fsync(folder.get());
}

std::string text_in(const json& document, const char* key) {
  return document.contains(key) && document[key].is_string() ? document[key].get<std::string>() : "";
}

}  // namespace

fs::path StateFolder::default_path() {
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/')
    return fs::path{state} / "remotist";
  if (::geteuid() == 0) return "/var/lib/remotist";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/')
    throw std::runtime_error{"HOME is not set, so say with --state where the agent keeps its files"};
  return fs::path{home} / ".local/state/remotist";
}

StateFolder::StateFolder(const fs::path& path) : path_(fs::absolute(path)) {
  fs::create_directories(path_.parent_path());
  if (::mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) fault(path_, "cannot be made");
  struct stat found{};
  if (::stat(path_.c_str(), &found) != 0) fault(path_, "cannot be entered");
  if (!S_ISDIR(found.st_mode)) throw std::runtime_error{path_.string() + " is not a folder"};
  if (found.st_uid != ::geteuid() || (found.st_mode & 077) != 0) {
    throw std::runtime_error{path_.string() + " holds tokens, so it must be yours alone: chmod 700 " +
                             path_.string()};
  }
}

std::optional<Login> StateFolder::login() const {
  const auto document = read_json(path_ / kLogin);
  if (!document) return std::nullopt;
  return Login{text_in(*document, "url"), text_in(*document, "ca_file"), text_in(*document, "token")};
}

std::optional<LentMachine> StateFolder::machine() const {
  const auto document = read_json(path_ / kMachine);
  if (!document) return std::nullopt;
  const auto id = MachineId::parse(text_in(*document, "id"));
  if (!id) throw std::runtime_error{(path_ / kMachine).string() + " names no machine: delete it"};
  return LentMachine{.id = *id,
                     .name = text_in(*document, "name"),
                     .cpu_cores = document->value("cpu_cores", std::int64_t{1}),
                     .socket_url = text_in(*document, "socket_url"),
                     .token = text_in(*document, "token"),
                     .token_expires_at = text_in(*document, "token_expires_at")};
}

void StateFolder::store(const Login& login) const {
  write_json(path_ / kLogin, {{"url", login.url}, {"ca_file", login.ca_file}, {"token", login.token}});
}

void StateFolder::store(const LentMachine& machine) const {
  write_json(path_ / kMachine, {{"id", machine.id.text()},
                                {"name", machine.name},
                                {"cpu_cores", machine.cpu_cores},
                                {"socket_url", machine.socket_url},
                                {"token", machine.token},
                                {"token_expires_at", machine.token_expires_at}});
}

std::optional<Descriptor> StateFolder::lock() const {
  const auto file = path_ / "lock";
  Descriptor held{::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
  if (held.get() < 0) fault(file, "cannot be made");
  if (::flock(held.get(), LOCK_EX | LOCK_NB) == 0) return held;
  if (errno != EWOULDBLOCK) fault(file, "cannot be locked");
  return std::nullopt;
}

}  // namespace remotist::volunteer
