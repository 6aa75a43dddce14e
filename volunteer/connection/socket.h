// The client side of a machine's WebSocket: libcurl connects, does the handshake, encrypts and parses frames.
//
// Outgoing frames are encoded here and passed to curl raw, so that one write sends several frames and a pong
// never falls into the middle of a frame that is partly sent.
//
// One thread may connect and another use the socket, one at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/websocket.h"

namespace remotist::volunteer {

// Appends a client's masked frame (RFC 6455, 5.2).
void append_frame(std::string& into, websocket::Opcode opcode, std::string_view payload, std::uint32_t mask);

class Socket {
 public:
  struct ConnectResult {
    std::unique_ptr<Socket> socket;  // null when the connection failed
    int status = 0;                  // of the HTTP answer; 0 without one
    std::string why{};
  };

  // Blocks for ten seconds at most, and ends early once `stopping` is set.
  static ConnectResult connect(const std::string& url, const std::string& token, const std::string& ca_file,
                               const std::atomic<bool>& stopping);

  // Closes without a close frame.
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int descriptor() const { return descriptor_; }

  // Queues a text frame, or a close frame; flush() sends what is queued, as far as the kernel accepts it.
  void send(std::string_view text);
  void send_close(websocket::CloseCode code);
  // False when the connection is over.
  bool flush();
  bool has_unsent() const { return sent_ < unsent_.size(); }

  // Appends the texts that have arrived. False when the connection is over; close_code() and why() give the
  // reason.
  bool read(std::vector<std::string>& into);

  int close_code() const { return close_code_; }  // 0: no close frame came
  const std::string& why() const { return why_; }

 private:
  explicit Socket(void* curl);
  // Handles a part of a frame; false when it was a close frame.
  bool on_frame_part(std::string_view bytes, int flags, bool whole, std::vector<std::string>& into);

  void* curl_;
  int descriptor_ = -1;
  std::uint32_t mask_;
  std::string unsent_;
  std::size_t sent_ = 0;  // of unsent_
  std::string text_;      // of a message that is not complete
  std::string control_;   // of a control frame that is not complete
  int close_code_ = 0;
  std::string why_;
};

}  // namespace remotist::volunteer
