// The clients of bench/roundtrip: submit R scripts and wait until each is completed.
//
//   bench_roundtrip URL TOKEN_FILE one SCRIPT COUNT       one after the other; "id sent_us done_us" for each
//   bench_roundtrip URL TOKEN_FILE many SCRIPT SECONDS N  N at a time; "jobs seconds" at the end
//
// Waits for completion with GET /job/{id}/events, as any client does. Ends when a job does not complete.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <curl/curl.h>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/json.h"
#include "volunteer/connection/rest.h"

namespace {

using nlohmann::json;
using remotist::volunteer::Rest;
using remotist::volunteer::RestAnswer;
using Clock = std::chrono::system_clock;  // comparable with the logs of other processes

std::string text_of(const char* file) {
  std::ifstream from{file};
  std::string text{std::istreambuf_iterator<char>{from}, {}};
  if (text.empty()) throw std::runtime_error{std::string{file} + " cannot be read"};
  return text;
}

class Client {
 public:
  Client(const std::string& url, std::string token, const std::string& code)
      : rest_(url, "", stopping_),
        headers_{"Authorization: Bearer " + std::move(token), "Content-Type: application/json"},
        wanted_(json{
            {"name", "bench"},
            {"exec_file", "main.R"},
            {"code", code},
            {"cpu", 1},
            {"ram", 512},
            {"disc", 50},
            {"price", 1},
            {"submit",
             true}}.dump()) {}

  // The completed job's id.
  std::string run_one() {
    const auto submitted = json::parse(require_success(rest_.call("PUT", "/job/", headers_, wanted_)).body);
    const auto id = submitted.at("id").get<std::string>();
    std::string seen;
    for (;;) {
      const auto answer =
          require_success(rest_.call("GET", "/job/" + id + "/events?after=" + seen, headers_));
      const auto data = answer.body.find("data: ");
      if (data == std::string::npos) continue;
      const auto number = answer.body.find("id: ") + 4;
      seen = answer.body.substr(number, answer.body.find('\n', number) - number);
      const auto job = json::parse(answer.body.substr(data + 6));
      const auto state = job.at("state").get<std::string>();
      if (state == "completed") return id;
      if (state == "failed" || state == "cancelled" || state == "expired")
        throw std::runtime_error{"a job is " + state + ": " + job.dump()};
    }
  }

 private:
  static RestAnswer require_success(RestAnswer answer) {
    if (!answer.good()) throw std::runtime_error{answer.message()};
    return answer;
  }

  const std::atomic<bool> stopping_ = false;
  Rest rest_;
  const std::vector<std::string> headers_;
  const std::string wanted_;
};

long long microseconds() {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch()).count();
}

int run(int argc, char** argv) {
  if (argc < 6) throw std::runtime_error{"see the head of bench/roundtrip/roundtrip.cc"};
  const std::string url = argv[1];
  auto token = text_of(argv[2]);
  while (token.ends_with('\n')) token.pop_back();
  const auto code = text_of(argv[4]);
  const int count = std::atoi(argv[5]);
  if (std::string{argv[3]} == "one") {
    Client client{url, token, code};
    for (int i = 0; i < count; ++i) {
      const auto sent = microseconds();
      const auto id = client.run_one();
      std::printf("%s %lld %lld\n", id.c_str(), sent, microseconds());
    }
    return 0;
  }
  std::atomic<long> jobs = 0;
  const auto began = std::chrono::steady_clock::now();
  const auto until = began + std::chrono::seconds{count};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < std::atoi(argv[6]); ++i) {
      threads.emplace_back([&] {
        try {
          Client client{url, token, code};
          while (std::chrono::steady_clock::now() < until) {
            (void)client.run_one();
            ++jobs;
          }
        } catch (const std::exception& fault) {
          std::fprintf(stderr, "bench_roundtrip: %s\n", fault.what());
          std::_Exit(1);
        }
      });
    }
  }
  const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::printf("%ld %.3f\n", jobs.load(), seconds);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  curl_global_init(CURL_GLOBAL_DEFAULT);
  try {
    return run(argc, argv);
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "bench_roundtrip: %s\n", fault.what());
    return 1;
  }
}
