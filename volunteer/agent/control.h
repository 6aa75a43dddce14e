// The control socket, through which `volunteer-agent status` and `stop` reach the running agent: one line of
// request, one answer. It is in the state folder, which only its owner can enter.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer {

class Control {
 public:
  // Replaces the socket of an agent that has exited: requires the state folder's lock. Throws
  // std::runtime_error.
  explicit Control(const std::filesystem::path& path);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  // Readable when a request is waiting.
  int descriptor() const { return socket_.get(); }
  // Answers one request. Waits at most a tenth of a second for a client that has connected and sends nothing.
  void serve(const std::function<std::string(std::string_view request)>& answer);

 private:
  const std::filesystem::path path_;
  Descriptor socket_;
};

// The agent's answer; none when no agent is running.
std::optional<std::string> request_from_agent(const std::filesystem::path& path, std::string_view request);

}  // namespace remotist::volunteer
