#include "core/amqp/wire.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include "core/amqp/connection.h"

namespace remotist::amqp {
namespace {

using namespace std::chrono_literals;

// A broker that says one thing, whatever it is told, and hangs up or waits.
class Impostor {
 public:
  explicit Impostor(std::string speech, bool hang_up = true) : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof place;
    REQUIRE(bind(listener_, reinterpret_cast<sockaddr*>(&place), size) == 0);
    REQUIRE(listen(listener_, 1) == 0);
    REQUIRE(getsockname(listener_, reinterpret_cast<sockaddr*>(&place), &size) == 0);
    address_ = {.host = "127.0.0.1", .port = ntohs(place.sin_port), .user = "u", .password = "p"};
    thread_ = std::jthread{[listener = listener_, speech = std::move(speech), hang_up] {
      const int peer = accept(listener, nullptr, nullptr);
      char heard[8];
      if (recv(peer, heard, sizeof heard, 0) > 0) send(peer, speech.data(), speech.size(), MSG_NOSIGNAL);
      // Waits for the other to hang up.
      while (!hang_up && recv(peer, heard, sizeof heard, 0) > 0) {
      }
      close(peer);
    }};
  }
  ~Impostor() {
    // A client whose time ran out before it connected leaves accept() waiting.
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }

  const Address& address() const { return address_; }

 private:
  int listener_;
  Address address_;
  std::jthread thread_;
};

void check_lost(std::string speech, bool hang_up = true) {
  const Impostor impostor{std::move(speech), hang_up};
  CHECK_THROWS_AS((Connection{impostor.address(), {.rpc_timeout = 200ms}}), ConnectionLost);
}

std::string frame(char type, std::string_view payload) {
  std::string bytes{type, 0, 0, 0, 0, 0, static_cast<char>(payload.size())};
  bytes += payload;
  return bytes + '\xce';
}

}  // namespace

TEST_CASE("whatever a peer says that is not AMQP, the connection is lost and nothing else happens") {
  check_lost("");
  check_lost("HTTP/1.1 400 Bad Request\r\n\r\n");
  check_lost(std::string{"AMQP\0\1\0\0", 8});  // AMQP 1.0
  check_lost(std::string(4096, '\xff'));
  check_lost(std::string(4096, '\0'));
  check_lost(frame(1, std::string{"\0\x0a", 2}));  // a method that is cut short
  check_lost(frame(1, std::string{"\0\x0a\0\x0a\0\x09\xff\xff\xff\xff",
                                  10}));  // connection.start that lies about its size
  check_lost(
      frame(2, std::string{"\0\x3c\0\0\0\0\0\0\0\0\0\0\xff\xff", 14}));   // content that nobody announced
  check_lost(frame(1, std::string{"\0\x0a\0\x1e\0\0\0\0\0\0\0\0", 12}));  // connection.tune too early
  check_lost(frame(8, "").substr(0, 7) + 'x');                            // a frame without its end
}

TEST_CASE("a peer that says nothing, or half of something, is lost at the time-out") {
  check_lost("", false);
  check_lost(frame(1, std::string(100, 'x')).substr(0, 50), false);
  check_lost(frame(8, ""), false);
}

}  // namespace remotist::amqp
