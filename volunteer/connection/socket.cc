#include "volunteer/connection/socket.h"

#include <array>
#include <cstring>
#include <curl/curl.h>
#include <random>
#include <utility>

#include "volunteer/connection/address.h"
#include "volunteer/connection/ends_early.h"

namespace remotist::volunteer {
namespace {

constexpr long kConnectMsMax = 10'000;
constexpr long kSwitchingProtocols = 101;

// The market accepts any mask; it only has to differ each time.
std::uint32_t next_mask(std::uint32_t& state) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

void mask_bytes(char* bytes, std::size_t count, std::uint32_t mask) {
  const std::uint64_t wide = std::uint64_t{mask} << 32 | mask;
  std::size_t at = 0;
  for (; at + sizeof wide <= count; at += sizeof wide) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, sizeof word);
    word ^= wide;
    std::memcpy(bytes + at, &word, sizeof word);
  }
  for (; at < count; ++at)
    bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(mask >> (8 * (at % 4))));
}

}  // namespace

void append_frame(std::string& into, websocket::Opcode opcode, std::string_view payload, std::uint32_t mask) {
  const std::size_t size = payload.size();
  const int length_bytes = size < 126 ? 0 : size <= 0xffff ? 2 : 8;
  const std::size_t short_length = length_bytes == 0 ? size : length_bytes == 2 ? 126 : 127;
  into.push_back(static_cast<char>(0x80 | static_cast<std::uint8_t>(opcode)));
  into.push_back(static_cast<char>(0x80 | short_length));
  for (int i = length_bytes; i-- > 0;) into.push_back(static_cast<char>(size >> (8 * i)));
  into.append(reinterpret_cast<const char*>(&mask), sizeof mask);
  into.append(payload);
  mask_bytes(into.data() + into.size() - payload.size(), payload.size(), mask);
}

Socket::ConnectResult Socket::connect(const std::string& url, const std::string& token,
                                      const std::string& ca_file, const std::atomic<bool>& stopping) {
  CURL* curl = curl_easy_init();
  if (curl == nullptr) return {nullptr, 0, "libcurl has no memory for another connection"};
  std::array<char, CURL_ERROR_SIZE> why{};
  curl_slist* headers = curl_slist_append(nullptr, ("Authorization: Bearer " + token).c_str());
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "ws,wss");
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, 2L);  // includes the WebSocket handshake
  curl_easy_setopt(curl, CURLOPT_WS_OPTIONS, static_cast<long>(CURLWS_RAW_MODE | CURLWS_NOAUTOPONG));
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, kConnectMsMax);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, ends_early);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &stopping);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why.data());
  if (!ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, ca_file.c_str());
  CURLcode fault = curl_easy_perform(curl);
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  // curl reports success when the server closes the connection without an answer.
  if (fault == CURLE_OK && status != kSwitchingProtocols) fault = CURLE_GOT_NOTHING;
  // The handle outlives both.
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, nullptr);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, nullptr);
  curl_slist_free_all(headers);
  if (fault != CURLE_OK) {
    curl_easy_cleanup(curl);
    return {nullptr, static_cast<int>(status),
            (why[0] != '\0' ? why.data() : curl_easy_strerror(fault)) + scheme_hint(url, fault)};
  }
  return {std::unique_ptr<Socket>{new Socket{curl}}, static_cast<int>(status)};
}

Socket::Socket(void* curl) : curl_(curl), mask_(std::random_device{}() | 1) {
  curl_socket_t descriptor = CURL_SOCKET_BAD;
  curl_easy_getinfo(curl_, CURLINFO_ACTIVESOCKET, &descriptor);
  descriptor_ = descriptor;
}

Socket::~Socket() {
  curl_easy_cleanup(curl_);
}

void Socket::send(std::string_view text) {
  append_frame(unsent_, websocket::Opcode::text, text, next_mask(mask_));
}

void Socket::send_close(websocket::CloseCode code) {
  const auto number = static_cast<std::uint16_t>(code);
  const std::array<char, 2> payload{static_cast<char>(number >> 8), static_cast<char>(number & 0xff)};
  append_frame(unsent_, websocket::Opcode::close, {payload.data(), payload.size()}, next_mask(mask_));
}

bool Socket::flush() {
  while (has_unsent()) {
    std::size_t sent = 0;
    const CURLcode fault = curl_ws_send(curl_, unsent_.data() + sent_, unsent_.size() - sent_, &sent, 0, 0);
    sent_ += sent;
    if (fault == CURLE_AGAIN || (fault == CURLE_OK && sent == 0)) return true;
    if (fault != CURLE_OK) {
      why_ = curl_easy_strerror(fault);
      return false;
    }
  }
  unsent_.clear();
  sent_ = 0;
  return true;
}

bool Socket::read(std::vector<std::string>& into) {
  std::array<char, 16 << 10> bytes;
  for (;;) {
    std::size_t count = 0;
    const curl_ws_frame* frame = nullptr;
    const CURLcode fault = curl_ws_recv(curl_, bytes.data(), bytes.size(), &count, &frame);
    if (fault == CURLE_AGAIN) return true;
    if (fault != CURLE_OK) {
      why_ = curl_easy_strerror(fault);
      return false;
    }
    if (!on_frame_part({bytes.data(), count}, frame->flags, frame->bytesleft == 0, into)) return false;
  }
}

bool Socket::on_frame_part(std::string_view bytes, int flags, bool whole, std::vector<std::string>& into) {
  if ((flags & (CURLWS_CLOSE | CURLWS_PING | CURLWS_PONG)) == 0) {
    text_.append(bytes);
    // A message may come in several frames.
    if (whole && (flags & CURLWS_CONT) == 0) into.push_back(std::exchange(text_, {}));
    return true;
  }
  control_.append(bytes);
  if (!whole) return true;
  const auto payload = std::exchange(control_, {});
  if ((flags & CURLWS_PING) != 0) {
    append_frame(unsent_, websocket::Opcode::pong, payload, next_mask(mask_));
    return flush();
  }
  if ((flags & CURLWS_CLOSE) == 0) return true;
  if (payload.size() >= 2) {
    close_code_ = static_cast<std::uint8_t>(payload[0]) << 8 | static_cast<std::uint8_t>(payload[1]);
    why_ = payload.substr(2);
  }
  return false;
}

}  // namespace remotist::volunteer
