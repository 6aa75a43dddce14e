// Submits jobs over REST as fast as the market takes them, or one at a time: the clients of bench/dispatch.
//
//   bench_submit URL TOKENS_FILE JOBS CONNECTIONS [PAUSE_MS [WHILE_FILE [JOB_FILE]]]
//
// The accounts of the file take turns. Prints "id microseconds" for each job, with the time at which its
// request was sent, then on standard error one line: jobs, seconds, jobs a second. Any answer but 201 ends
// it; with WHILE_FILE it tries again instead, with the same Idempotency-Key, and ends when that file is gone.
// JOB_FILE holds the body of the request; without it the job is x <- 1.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <mutex>
#include <netdb.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

// A request that did not work.
struct Failed {
  std::string why;
};

[[noreturn]] void die(const std::string& why) {
  std::cerr << "bench_submit: " << why << '\n';
  std::_Exit(1);
}

struct Target {
  std::string host;
  std::string port;
};

// http://host:port
Target target_of(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) die("the URL must begin with http://");
  url.remove_prefix(kScheme.size());
  const auto colon = url.find(':');
  if (colon == std::string_view::npos) die("the URL must have a port");
  return {std::string{url.substr(0, colon)}, std::string{url.substr(colon + 1)}};
}

int connect_to(const Target& target) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(target.host.c_str(), target.port.c_str(), &hints, &found) != 0) die("no such host");
  const int connection = socket(found->ai_family, SOCK_STREAM, 0);
  const int refused = connect(connection, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  if (refused != 0) {
    close(connection);
    throw Failed{"cannot connect to the market"};
  }
  const int on = 1;
  setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return connection;
}

const std::string kWanted =
    R"({"name":"bench","exec_file":"main.R","code":"x <- 1","cpu":1,"ram":64,"disc":1,"price":0.001,"submit":true})";

std::string text_of(const char* path) {
  std::ifstream file{path};
  std::string text{std::istreambuf_iterator<char>{file}, {}};
  if (text.empty()) die(std::string{"nothing can be read from "} + path);
  return text;
}

// One keep-alive connection.
class Client {
 public:
  explicit Client(const Target& target) : connection_(connect_to(target)) {}
  ~Client() { close(connection_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Gives the new job's id.
  std::string submit(const std::string& token, const std::string& key, const std::string& wanted) {
    const std::string request =
        "PUT /job/ HTTP/1.1\r\nHost: market\r\nAuthorization: Bearer " + token +
        "\r\nIdempotency-Key: " + key +
        "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(wanted.size()) +
        "\r\n\r\n" + wanted;
    if (write(connection_, request.data(), request.size()) != static_cast<ssize_t>(request.size()))
      throw Failed{"the market closed the connection"};
    const auto answer = read_answer();
    if (!answer.starts_with("HTTP/1.1 201")) throw Failed{"the market answered " + answer.substr(0, 400)};
    constexpr std::string_view kId = "\"id\":\"";
    return answer.substr(answer.find(kId) + kId.size(), 36);
  }

 private:
  std::string read_answer() {
    std::string answer;
    std::size_t wanted = 0;
    while (wanted == 0 || answer.size() < wanted) {
      char bytes[8192];
      const auto count = read(connection_, bytes, sizeof bytes);
      if (count <= 0) throw Failed{"the market closed the connection"};
      answer.append(bytes, static_cast<std::size_t>(count));
      const auto end = answer.find("\r\n\r\n");
      if (wanted != 0 || end == std::string::npos) continue;
      constexpr const char* kLength = "content-length: ";
      const char* const length = strcasestr(answer.c_str(), kLength);
      if (length == nullptr) die("the answer has no length");
      wanted = end + 4 + std::strtoul(length + std::strlen(kLength), nullptr, 10);
    }
    return answer;
  }

  const int connection_;
};

// Until the job is there, if it may be tried again.
std::string submit(const Target& target, std::unique_ptr<Client>& client, const std::string& token,
                   const std::string& key, const std::string& wanted, bool again) {
  for (;;) {
    try {
      if (!client) client = std::make_unique<Client>(target);
      return client->submit(token, key, wanted);
    } catch (const Failed& failed) {
      if (!again) die(failed.why);
      client.reset();
      std::this_thread::sleep_for(std::chrono::milliseconds{100});
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5)
    die("usage: bench_submit URL TOKENS_FILE JOBS CONNECTIONS [PAUSE_MS [WHILE_FILE [JOB_FILE]]]");
  const Target target = target_of(argv[1]);
  std::vector<std::string> tokens;
  std::ifstream file{argv[2]};
  for (std::string line; std::getline(file, line);) tokens.push_back(line);
  if (tokens.empty()) die(std::string{"no tokens in "} + argv[2]);
  const long jobs = std::atol(argv[3]);
  const std::chrono::milliseconds pause{argc > 5 ? std::atol(argv[5]) : 0};

  const std::string while_file = argc > 6 ? argv[6] : "";
  const auto goes_on = [&] { return while_file.empty() || access(while_file.c_str(), F_OK) == 0; };
  const std::string wanted = argc > 7 ? text_of(argv[7]) : kWanted;
  const std::string run = std::to_string(std::chrono::system_clock::now().time_since_epoch().count());

  std::signal(SIGPIPE, SIG_IGN);
  std::atomic<long> next = 0;
  std::atomic<long> done = 0;
  std::mutex mutex;
  const auto began = Clock::now();
  std::vector<std::jthread> threads;
  for (long i = std::atol(argv[4]); i > 0; --i) {
    threads.emplace_back([&] {
      std::unique_ptr<Client> client;
      for (long job = next++; job < jobs && goes_on(); job = next++) {
        const auto sent = std::chrono::duration_cast<std::chrono::microseconds>(
                              std::chrono::system_clock::now().time_since_epoch())
                              .count();
        const auto id = submit(target, client, tokens[static_cast<std::size_t>(job) % tokens.size()],
                               run + "-" + std::to_string(job), wanted, !while_file.empty());
        ++done;
        {
          const std::lock_guard lock{mutex};
          std::cout << id << ' ' << sent << std::endl;
        }
        if (pause.count() > 0) std::this_thread::sleep_for(pause);
      }
    });
  }
  threads.clear();
  const std::chrono::duration<double> took = Clock::now() - began;
  std::cerr << done << ' ' << took.count() << ' ' << static_cast<double>(done) / took.count() << '\n';
}
