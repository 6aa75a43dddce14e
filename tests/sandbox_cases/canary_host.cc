#include "tests/sandbox_cases/canary_host.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <ifaddrs.h>
#include <iterator>
#include <netinet/in.h>
#include <random>
#include <sstream>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace remotist::volunteer::cases {
namespace {

namespace fs = std::filesystem;

fs::path temporary_folder() {
  auto name = (fs::temp_directory_path() / "remotist-cases-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::system_error{errno, std::generic_category(), "mkdtemp"};
  fs::permissions(name, fs::perms{0755});
  return name;
}

// From the environment of this process, which /proc shows, else a new one.
std::string canary_secret() {
  if (const char* const given = std::getenv("REMOTIST_CANARY_TOKEN")) return given;
  std::random_device random;
  std::ostringstream word;
  word << "canary-" << std::hex << random() << random();
  return word.str();
}

// An address of this machine other than loopback.
std::string host_address() {
  ifaddrs* all = nullptr;
  std::string found;
  if (getifaddrs(&all) != 0) return found;
  for (const auto* each = all; each != nullptr && found.empty(); each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr, text, sizeof text);
    if (std::strncmp(text, "127.", 4) != 0) found = text;
  }
  freeifaddrs(all);
  return found;
}

// A random one, so that concurrent runs do not interfere.
fs::path any_file_of_r() {
  std::vector<fs::path> all;
  for (const auto& each : fs::recursive_directory_iterator{fs::path{REMOTIST_R_HOME} / "library"})
    if (each.is_regular_file()) all.push_back(each.path());
  std::random_device random;
  return all.at(std::uniform_int_distribution<std::size_t>{0, all.size() - 1}(random));
}

std::string seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return std::to_string(now.tv_sec);
}

long mounts_below(const fs::path& folder) {
  std::ifstream mounts{"/proc/self/mountinfo"};
  long count = 0;
  for (std::string line; std::getline(mounts, line);)
    if (line.contains(" " + folder.string())) ++count;
  return count;
}

}  // namespace

CanaryHost::CanaryHost(bool guarded)
    : guarded_{guarded},
      secret_{canary_secret()},
      folder_{temporary_folder()},
      files_folder_{folder_ / "host"},
      guests_{folder_ / "guests"} {
  fs::create_directories(files_folder_ / "agent");
  fs::permissions(files_folder_ / "agent", fs::perms{0700});
  fs::create_directories(files_folder_ / "home/somebody");
  fs::create_directories(guests_ / "other/work");
  fs::permissions(guests_, fs::perms{0700});
  write(files_folder_ / "secret", 0644);
  write(files_folder_ / "agent/token", 0600);
  write(files_folder_ / "home/somebody/diary", 0644);
  write(guests_ / "other/work/data.txt", 0644);
  setenv("REMOTIST_CANARY_TOKEN", secret_.c_str(), 1);
  address_ = host_address();
  sockets_.emplace("IPv4", CanarySocket::ipv4());
  sockets_.emplace("IPv6", CanarySocket::ipv6());
  sockets_.emplace("UDP", CanarySocket::udp());
  sockets_.emplace("Unix", CanarySocket::file(folder_ / "host/socket"));
  sockets_.emplace("abstract", CanarySocket::abstract(secret_));
  if (guarded_) name_servers_.push_back(CanarySocket::udp(53));
  files_before_ = files();
  shared_file_ = any_file_of_r();
}

CanaryHost::~CanaryHost() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void CanaryHost::write(const fs::path& path, unsigned mode) const {
  std::ofstream{path} << secret_ << '\n';
  fs::permissions(path, static_cast<fs::perms>(mode));
}

std::map<std::string, std::string> CanaryHost::files() const {
  std::map<std::string, std::string> found;
  for (const auto& below : {files_folder_, guests_ / "other"})
    for (const auto& each : fs::recursive_directory_iterator{below}) {
      auto& text = found[each.path()];
      if (!each.is_regular_file()) continue;
      std::ifstream file{each.path()};
      text.assign(std::istreambuf_iterator<char>{file}, {});
    }
  return found;
}

std::map<std::string, std::string> CanaryHost::targets() const {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return {{"canary_word", secret_},
          {"canary", std::to_string(process_.pid())},
          {"canary_memory", std::to_string(reinterpret_cast<std::uintptr_t>(this))},
          {"agent", std::to_string(getpid())},
          {"own_user", getuid() == 0 ? "1" : "0"},  // whether each guest has a uid of its own
          {"host_folder", files_folder_},
          {"guests_folder", guests_},
          {"secret", files_folder_ / "secret"},
          {"token", files_folder_ / "agent/token"},
          {"diary", files_folder_ / "home/somebody/diary"},
          {"other_job", guests_ / "other/work"},
          {"host_name", name},
          {"host_address", address_},
          {"shared_file", shared_file_},
          {"monotonic_s", seconds_of(CLOCK_MONOTONIC)},
          {"boottime_s", seconds_of(CLOCK_BOOTTIME)},
          {"shm_key", std::to_string(segment_.key())},
          {"dns_name", "host.example."},
          {"port4", std::to_string(sockets_.at("IPv4").port())},
          {"port6", std::to_string(sockets_.at("IPv6").port())},
          {"port_udp", std::to_string(sockets_.at("UDP").port())},
          {"unix_socket", files_folder_ / "socket"},
          {"abstract_socket", secret_}};
}

void CanaryHost::check_locks() {
  const int fd = open(shared_file_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) locks_.push_back("there is a lock on " + shared_file_.string());
  struct flock all{};
  all.l_type = F_WRLCK;
  if (fcntl(fd, F_GETLK, &all) == 0 && all.l_type != F_UNLCK)
    locks_.push_back("there is a lock on a part of " + shared_file_.string());
  close(fd);
}

std::vector<std::string> CanaryHost::harm() {
  auto all = std::exchange(locks_, {});
  if (auto done = process_.harm(); !done.empty()) all.push_back(std::move(done));
  for (auto& [name, socket] : sockets_)
    if (socket.reached()) all.push_back("there was a connection to the " + name + " socket");
  const auto now = files();
  for (const auto& [path, text] : now)
    if (const auto before = files_before_.find(path); before == files_before_.end()) {
      all.push_back(path + " was created");
    } else if (before->second != text) {
      all.push_back(path + " was changed");
    }
  for (const auto& [path, text] : files_before_)
    if (!now.contains(path)) all.push_back(path + " was removed");
  files_before_ = now;
  if (mounts_below(folder_) != 0) all.push_back("something is mounted");
  return all;
}

void CanaryHost::serve() {
  for (const auto& server : name_servers_) server.answer_names();
}

std::vector<pid_t> descendants(pid_t ancestor) {
  std::map<pid_t, std::vector<pid_t>> children;
  for (const auto& entry : fs::directory_iterator{"/proc"}) {
    const auto name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ostringstream text;
    text << std::ifstream{entry.path() / "stat"}.rdbuf();
    const auto stat = text.str();
    const auto end = stat.rfind(')');
    if (end == std::string::npos) continue;
    char state = 0;
    pid_t parent = 0;
    std::istringstream{stat.substr(end + 1)} >> state >> parent;
    children[parent].push_back(static_cast<pid_t>(std::stol(name)));
  }
  std::vector<pid_t> found{ancestor};
  for (std::size_t i = 0; i < found.size(); ++i)
    std::ranges::copy(children[found[i]], std::back_inserter(found));
  found.erase(found.begin());
  std::ranges::sort(found);
  return found;
}

}  // namespace remotist::volunteer::cases
