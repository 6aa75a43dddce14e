// How `volunteer-agent status` and `stop` reach the agent that runs: one line there, one answer back, over a
// socket in the state folder, which nobody but its owner can enter.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "volunteer/agent/folder.h"

namespace remotist::volunteer {

class Control {
 public:
  // Replaces the socket of an agent that is gone: requires the state folder's lock. Throws
  // std::runtime_error.
  explicit Control(const std::filesystem::path& path);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  // Readable when somebody asks.
  int descriptor() const { return socket_.get(); }
  // Whoever asks and then says nothing is waited for a tenth of a second.
  void serve(const std::function<std::string(std::string_view request)>& answer);

 private:
  const std::filesystem::path path_;
  Descriptor socket_;
};

// The agent's answer; none when no agent runs.
std::optional<std::string> ask_agent(const std::filesystem::path& path, std::string_view request);

}  // namespace remotist::volunteer
