#include "volunteer/agent/control.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace remotist::volunteer {
namespace {

constexpr int kRequestMsMax = 100;
constexpr int kAnswerMsMax = 10'000;
constexpr int kBacklog = 8;

// The address of a socket is limited to 107 bytes and a path may be longer, so it names the open folder.
struct Address {
  explicit Address(const std::filesystem::path& path)
      : folder(::open(path.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    name.sun_family = AF_UNIX;
    std::snprintf(name.sun_path, sizeof name.sun_path, "/proc/self/fd/%d/%s", folder.get(),
                  path.filename().c_str());
  }
  const sockaddr* generic() const { return reinterpret_cast<const sockaddr*>(&name); }
  Descriptor folder;
  sockaddr_un name{};
};

// Reads until the other side closes, or one line.
std::string read_all(int socket, int ms_max, bool one_line) {
  std::string text;
  std::array<char, 4096> bytes;
  pollfd waits{.fd = socket, .events = POLLIN, .revents = 0};
  while (::poll(&waits, 1, ms_max) > 0) {
    const auto count = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (count <= 0) break;
    text.append(bytes.data(), static_cast<std::size_t>(count));
    if (one_line && text.ends_with('\n')) break;
  }
  return text;
}

}  // namespace

Control::Control(const std::filesystem::path& path)
    : path_(path), socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const Address address{path_};
  ::unlink(path_.c_str());
  if (socket_.get() < 0 || ::bind(socket_.get(), address.generic(), sizeof address.name) != 0 ||
      ::listen(socket_.get(), kBacklog) != 0) {
    throw std::runtime_error{path_.string() + " cannot be made: " + std::strerror(errno)};
  }
}

Control::~Control() {
  ::unlink(path_.c_str());
}

void Control::serve(const std::function<std::string(std::string_view request)>& answer) {
  const Descriptor client{::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
  if (client.get() < 0) return;
  auto request = read_all(client.get(), kRequestMsMax, true);
  while (request.ends_with('\n')) request.pop_back();
  const auto text = answer(request);
  (void)!::send(client.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::optional<std::string> request_from_agent(const std::filesystem::path& path, std::string_view request) {
  const Address address{path};
  const Descriptor socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (::connect(socket.get(), address.generic(), sizeof address.name) != 0) return std::nullopt;
  const std::string line = std::string{request} + "\n";
  (void)!::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL);
  return read_all(socket.get(), kAnswerMsMax, false);
}

}  // namespace remotist::volunteer
