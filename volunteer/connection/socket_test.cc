#include "volunteer/connection/socket.h"

#include <arpa/inet.h>
#include <array>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "volunteer/connection/rest.h"

namespace remotist::volunteer {
namespace {

// Accepts one connection on loopback, reads a request or a TLS greeting, answers with these bytes and closes.
class OneAnswer {
 public:
  explicit OneAnswer(std::string answer) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in bound{};
    bound.sin_family = AF_INET;
    bound.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof bound;
    REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&bound), size) == 0);
    REQUIRE(::listen(listener_, 1) == 0);
    REQUIRE(::getsockname(listener_, reinterpret_cast<sockaddr*>(&bound), &size) == 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(bound.sin_port));
    thread_ = std::thread{[this, answer = std::move(answer)] {
      const int client = ::accept(listener_, nullptr, nullptr);
      std::array<char, 4096> bytes;
      if (::read(client, bytes.data(), bytes.size()) > 0)
        (void)!::write(client, answer.data(), answer.size());
      ::close(client);
    }};
  }
  ~OneAnswer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  OneAnswer(const OneAnswer&) = delete;
  OneAnswer& operator=(const OneAnswer&) = delete;
  const std::string& address() const { return address_; }

 private:
  int listener_;
  std::string address_;
  std::thread thread_;
};

const std::string kTlsAlert{"\x15\x03\x01\x00\x02\x02\x46", 7};

}  // namespace

TEST_CASE("a server reads the frames that a client writes, of every length") {
  for (const std::size_t size : {0, 1, 7, 8, 9, 125, 126, 127, 65'535, 65'536, 100'001}) {
    CAPTURE(size);
    std::string payload;
    for (std::size_t i = 0; i < size; ++i) payload.push_back(static_cast<char>(i * 7));
    std::string bytes;
    append_frame(bytes, websocket::Opcode::text, payload, 0x12345678);
    append_frame(bytes, websocket::Opcode::ping, "again", 0x9abcdef0);
    websocket::FrameReader reader{200'000};
    std::vector<websocket::Message> messages;
    REQUIRE(reader.read(bytes, messages));
    REQUIRE(messages.size() == 2);
    CHECK(messages[0].opcode == websocket::Opcode::text);
    CHECK(messages[0].payload == payload);
    CHECK(messages[1].payload == "again");
  }
}

TEST_CASE("a failed connection is reported at once when no market listens") {
  const std::atomic<bool> stopping = false;
  const auto result = Socket::connect("ws://127.0.0.1:1/volunteer/socket", "token", "", stopping);
  CHECK(result.socket == nullptr);
  CHECK(result.status == 0);
  CHECK_FALSE(result.why.empty());
}

TEST_CASE("a plaintext connection to a TLS port is reported as such") {
  const std::atomic<bool> stopping = false;
  for (const auto& answer : {std::string{}, kTlsAlert}) {
    CAPTURE(answer.size());
    const OneAnswer socket_port{answer};
    const auto result =
        Socket::connect("ws://" + socket_port.address() + "/volunteer/socket", "token", "", stopping);
    CHECK(result.socket == nullptr);
    CHECK_MESSAGE(result.why.find("may expect TLS") != std::string::npos, result.why);
    const OneAnswer rest_port{answer};
    Rest rest{"http://" + rest_port.address(), "", stopping};
    const auto called = rest.call("GET", "/healthz", {});
    CHECK(called.status == 0);
    CHECK_MESSAGE(called.body.find("may expect TLS") != std::string::npos, called.body);
  }
}

TEST_CASE("a TLS connection to a plaintext port is reported as such") {
  const std::atomic<bool> stopping = false;
  const OneAnswer port{"HTTP/1.1 400 Bad Request\r\n\r\n"};
  const auto result = Socket::connect("wss://" + port.address() + "/volunteer/socket", "token", "", stopping);
  CHECK(result.socket == nullptr);
  CHECK_MESSAGE(result.why.find("may speak no TLS") != std::string::npos, result.why);
}

TEST_CASE("an answer other than the switch to a WebSocket opens none") {
  const std::atomic<bool> stopping = false;
  const OneAnswer port{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"};
  const auto result = Socket::connect("ws://" + port.address() + "/volunteer/socket", "token", "", stopping);
  CHECK(result.socket == nullptr);
  CHECK(result.status == 200);
}

TEST_CASE("only WebSocket addresses are connected to") {
  const std::atomic<bool> stopping = false;
  CHECK(Socket::connect("file:///etc/passwd", "token", "", stopping).socket == nullptr);
}

}  // namespace remotist::volunteer
