// How many requests a delivery takes.
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <doctest/doctest.h>
#include <fstream>
#include <map>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "core/json.h"
#include "core/limits.h"
#include "volunteer/agent/scratch_folder.h"
#include "volunteer/agent/transfer.h"
#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer {
namespace {

namespace fs = std::filesystem;

// Accepts everything on one connection, and has no chunk.
class EmptyMarket {
 public:
  EmptyMarket() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in bound{};
    bound.sin_family = AF_INET;
    bound.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof bound;
    REQUIRE(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&bound), size) == 0);
    REQUIRE(::listen(listener_.get(), 1) == 0);
    REQUIRE(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&bound), &size) == 0);
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(bound.sin_port));
    thread_ = std::thread{[this] { serve(); }};
  }
  // Ends with the connection.
  std::map<std::string, int> requests() {
    thread_.join();
    return requests_;
  }
  const std::string& url() const { return url_; }

 private:
  void serve() {
    const Descriptor client{::accept(listener_.get(), nullptr, nullptr)};
    std::string bytes;
    for (;;) {
      const auto head = bytes.find("\r\n\r\n");
      if (head == std::string::npos) {
        if (!read_more(client, bytes)) return;
        continue;
      }
      const auto length = content_length(bytes.substr(0, head));
      while (bytes.size() < head + 4 + length)
        if (!read_more(client, bytes)) return;
      const auto answer = answer_to(bytes.substr(0, bytes.find(" HTTP/")), bytes.substr(head + 4, length));
      bytes.erase(0, head + 4 + length);
      if (::write(client.get(), answer.data(), answer.size()) < 0) return;
    }
  }
  static bool read_more(const Descriptor& client, std::string& bytes) {
    std::array<char, 1 << 16> piece{};
    const auto got = ::read(client.get(), piece.data(), piece.size());
    if (got > 0) bytes.append(piece.data(), static_cast<std::size_t>(got));
    return got > 0;
  }
  static std::size_t content_length(const std::string& head) {
    constexpr std::string_view kName = "\r\nContent-Length: ";
    const auto at = head.find(kName);
    return at == std::string::npos ? 0 : std::stoul(head.substr(at + kName.size()));
  }
  std::string answer_to(const std::string& request, const std::string& body) {
    const bool asks = request == "POST /blob/missing";
    ++requests_[request.starts_with("PUT /blob/") ? "PUT chunk" : asks ? "ask" : "name"];
    if (!asks) return "HTTP/1.1 204 No Content\r\n\r\n";
    const auto missing = nlohmann::json{{"missing", nlohmann::json::parse(body).at("chunks")}}.dump();
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(missing.size()) + "\r\n\r\n" + missing;
  }

  Descriptor listener_;
  std::string url_;
  std::map<std::string, int> requests_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("ten thousand small files are asked for and named in few requests, and none is sent twice") {
  constexpr int kFiles = 10'000;
  constexpr int kContents = 50;
  const ScratchFolder scratch;
  const GuestSpec guest{.name = "guest", .folder = scratch.path};
  for (const char* folder : {kOutFolder, kWorkFolder}) fs::create_directories(scratch.path / folder);
  std::ofstream{scratch.path / kOutFolder / kResultFile} << "result";
  Verdict verdict;
  verdict.ending = Ending::completed;
  for (int i = 0; i < kFiles; ++i) {
    verdict.made.push_back("file-" + std::to_string(i));
    std::ofstream{scratch.path / kWorkFolder / verdict.made.back()} << i % kContents;
  }
  EmptyMarket market;
  {
    const std::atomic<bool> stopping{false};
    Rest rest{market.url(), "", stopping};
    const auto delivery = deliver_job(rest, {"machine", {{JobId::make(), 1}, "attempt"}}, verdict, guest);
    CHECK_FALSE(delivery.fault);
    CHECK(delivery.small.size() == limits::kOutcomeFilesMax);
  }
  auto requests = market.requests();
  // 500 files at a time; the market of this test has forgotten the chunks by the next time.
  CHECK(requests["ask"] == 20);
  CHECK(requests["name"] == 20);
  CHECK(requests["PUT chunk"] == 20 * kContents);
}

}  // namespace remotist::volunteer
