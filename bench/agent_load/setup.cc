#include "bench/agent_load/setup.h"

#include <atomic>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "core/digest.h"
#include "core/json.h"
#include "core/json_body.h"
#include "volunteer/connection/rest.h"

namespace remotist::bench {
namespace {

using volunteer::Rest;
using volunteer::RestAnswer;

constexpr int kThreads = 4;

std::string read_token(const std::string& path) {
  std::ifstream file{path};
  std::string token;
  if (!(file >> token)) {
    throw std::runtime_error{"cannot read a token from " + path +
                             ": --user-token-file needs a file with what POST /user/login answers as token"};
  }
  return token;
}

RestAnswer done(RestAnswer answer, const std::string& what) {
  if (answer.status == 0)
    throw std::runtime_error{what + " failed: " + answer.message() + "; is --url right?"};
  if (!answer.good()) throw std::runtime_error{what + " failed: " + answer.message()};
  return answer;
}

MachineCredentials make_one(Rest& rest, const MakeOptions& options, const std::string& user_token,
                            const std::string& name) {
  const std::vector<std::string> headers{"Authorization: Bearer " + user_token,
                                         "Content-Type: application/json"};
  const nlohmann::json wanted{{"name", name},
                              {"cpu", options.cores},
                              {"ram", options.ram_mb},
                              {"disc", options.disc_mb},
                              {"price", options.price}};
  const auto machine =
      done(rest.call("PUT", "/machine/", headers, wanted.dump()), "PUT /machine/ of " + name);
  const auto id = MachineId::parse(JsonBody{machine.body}.text("id"));
  if (!id) throw std::runtime_error{"PUT /machine/ answered without a machine's id: is --url a market's?"};
  const auto path = "/machine/" + id->text() + "/startVolunteer";
  const auto started = done(rest.call("POST", path, headers, "{}"), "POST " + path);
  const auto token = JsonBody{started.body}.text("token");
  if (token.empty()) throw std::runtime_error{"POST " + path + " answered without a token"};
  return {*id, token};
}

}  // namespace

void make_machines(const MakeOptions& options, const std::function<void(const MachineCredentials&)>& made) {
  const auto user_token = read_token(options.user_token_file);
  const auto beginning = options.name.empty() ? "load-" + hex_of(random_bytes(4)) : options.name;
  std::atomic<std::int64_t> next = 1;
  std::atomic<bool> stopping = false;
  std::mutex mutex;
  std::exception_ptr fault;
  const auto work = [&] {
    try {
      Rest rest{options.url, options.ca_file, stopping};
      for (auto i = next++; i <= options.machines && !stopping; i = next++) {
        const auto machine = make_one(rest, options, user_token, beginning + "-" + std::to_string(i));
        const std::lock_guard lock{mutex};
        made(machine);
      }
    } catch (...) {
      const std::lock_guard lock{mutex};
      if (!fault) fault = std::current_exception();
      stopping = true;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back(work);
  }
  if (fault) std::rethrow_exception(fault);
}

}  // namespace remotist::bench
