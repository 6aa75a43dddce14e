#include "volunteer/agent/enrol.h"

#include <atomic>
#include <chrono>
#include <sstream>
#include <utility>

#include "core/json.h"
#include "volunteer/connection/address.h"
#include "volunteer/connection/rest.h"

namespace remotist::volunteer {
namespace {

using nlohmann::json;

json call(const std::string& url, const std::string& ca_file, const std::string& token, const char* method,
          const std::string& path, const json& body) {
  const std::atomic<bool> stopping = false;
  Rest rest{url, ca_file, stopping};
  std::vector<std::string> headers{"Content-Type: application/json"};
  if (!token.empty()) headers.push_back("Authorization: Bearer " + token);
  const auto answer = rest.call(method, path, headers, body.dump());
  if (answer.status == 0) {
    throw Unreachable{"the market at " + url + " does not answer (" + answer.body +
                      "): is the address right, and does it run?"};
  }
  if (answer.status / 100 == 5) throw Unreachable{"the market cannot answer now: " + answer.message()};
  if (!answer.good()) {
    if (answer.status == 401 && !token.empty())
      throw std::runtime_error{"the market no longer accepts your login: run `volunteer-agent login` again"};
    throw std::runtime_error{"the market refused " + path + ": " + answer.message()};
  }
  auto document = json_if_any(answer.body);
  if (!document || !document->is_object())
    throw std::runtime_error{"what answers at " + url + " is not a market: check the address"};
  return std::move(*document);
}

}  // namespace

Login log_in(std::string url, std::string ca_file, const std::string& email, const std::string& password) {
  while (url.ends_with('/')) url.pop_back();
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    throw std::runtime_error{"the market's address begins with https:// or http://"};
  const auto answer =
      call(url, ca_file, "", "POST", "/user/login", {{"email", email}, {"password", password}});
  return {std::move(url), std::move(ca_file), answer.at("token").get<std::string>()};
}

LentMachine add_machine(const Login& login, const MachineOffer& offer) {
  const json wanted{{"name", offer.name},
                    {"cpu", offer.cpu_cores},
                    {"ram", offer.ram_mb},
                    {"disc", offer.disc_mb},
                    {"price", offer.price}};
  const auto answer = call(login.url, login.ca_file, login.token, "PUT", "/machine/", wanted);
  const auto id = MachineId::parse(answer.at("id").get<std::string>());
  if (!id) throw std::runtime_error{"the market gave the machine no id"};
  return {.id = *id, .name = offer.name, .cpu_cores = offer.cpu_cores};
}

void start_volunteer(const Login& login, LentMachine& machine, bool token_may_be_plaintext) {
  const auto answer = call(login.url, login.ca_file, login.token, "POST",
                           "/machine/" + machine.id.text() + "/startVolunteer", json::object());
  auto socket_url = answer.at("socket_url").get<std::string>();
  check_socket_url(login.url, socket_url, token_may_be_plaintext);
  machine.token = answer.at("token").get<std::string>();
  machine.token_expires_at = answer.at("expires_at").get<std::string>();
  machine.socket_url = std::move(socket_url);
}

std::int64_t seconds_until(const std::string& time) {
  std::istringstream text{time};
  std::chrono::sys_time<std::chrono::milliseconds> at{};
  if (!(text >> std::chrono::parse("%FT%T", at))) return 0;
  const auto left = std::chrono::floor<std::chrono::seconds>(at - std::chrono::system_clock::now()).count();
  return left > 0 ? left : 0;
}

}  // namespace remotist::volunteer
