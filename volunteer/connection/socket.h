// A machine's WebSocket, the client's side: libcurl connects, shakes hands, encrypts and takes frames apart.
//
// Frames are put together here and given to curl raw, so that several leave in one write and a pong never
// falls into the middle of a frame that is half sent.
//
// May be dialled in one thread and used in another, by one at a time.
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

// The masked frame of a client (RFC 6455, 5.2), appended.
void append_frame(std::string& into, websocket::Opcode opcode, std::string_view payload, std::uint32_t mask);

class Socket {
 public:
  struct Dialled {
    std::unique_ptr<Socket> socket;  // null when the market did not let it in:
    int status = 0;                  // the HTTP status of its answer, 0 without one
    std::string why{};
  };

  // Blocks for ten seconds at most, and ends early once `stopping` is set.
  static Dialled dial(const std::string& url, const std::string& token, const std::string& ca_file,
                      const std::atomic<bool>& stopping);

  // Closes without a word.
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  int descriptor() const { return descriptor_; }

  // Queues a text frame, or a close frame; flush() sends what is queued, as far as the socket takes it.
  void send(std::string_view text);
  void send_close(websocket::CloseCode code);
  // False when the connection is over.
  bool flush();
  bool has_unsent() const { return sent_ < unsent_.size(); }

  // Appends the texts that have arrived. False when the connection is over; close_code() and why() tell more.
  bool read(std::vector<std::string>& into);

  int close_code() const { return close_code_; }  // 0: no close frame came
  const std::string& why() const { return why_; }

 private:
  explicit Socket(void* curl);
  // What curl has of one frame; false when it was a close frame.
  bool take(std::string_view bytes, int flags, bool whole, std::vector<std::string>& into);

  void* curl_;
  int descriptor_ = -1;
  std::uint32_t mask_;
  std::string unsent_;
  std::size_t sent_ = 0;  // of unsent_
  std::string text_;      // of a message whose end has not come
  std::string control_;   // of a control frame whose end has not come
  int close_code_ = 0;
  std::string why_;
};

}  // namespace remotist::volunteer
