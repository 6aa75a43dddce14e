// HTTP as bytes: what no well-behaved client would send, and what comes back for it.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>

namespace remotist::test {

// One answer as it came over the wire.
struct RawAnswer {
  int status = 0;                              // 0: the connection ended, or fell silent, without one
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::string code() const;  // of a problem document, else ""
  bool is_problem() const;   // with all that a problem document of the market must have
  bool closes() const;       // says that the connection ends
};

// A TCP connection to http://ADDRESS:PORT; closed at the end. What cannot be connected fails the test case.
class Raw {
 public:
  explicit Raw(const std::string& url, const char* from_address = nullptr);
  ~Raw();
  Raw(Raw&& other) noexcept;
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;

  // False when the other side has closed or takes nothing for ten seconds; it is not told why.
  bool send(std::string_view bytes);
  // No more will be sent.
  void finish();
  // The next answer. Without a length its body ends with the connection.
  RawAnswer answer(std::chrono::milliseconds within = std::chrono::seconds{10});
  // Everything up to the mark, and with it; or to the end of the connection, within ten seconds.
  std::string read_until(std::string_view mark);
  std::string read_to_end();
  // Whether the other side ends the connection within that time; what it sends meanwhile is dropped.
  bool ends(std::chrono::milliseconds within);
  // Whether it has ended by now.
  bool ended() { return ends(std::chrono::milliseconds{0}); }
  // Ends it with a reset instead of a goodbye.
  void reset();

 private:
  bool more(std::chrono::steady_clock::time_point deadline);

  int socket_ = -1;
  bool open_ = true;
  std::string unread_;
};

// A request on a connection of its own.
RawAnswer answer_to(const std::string& url, std::string_view bytes);

// "METHOD PATH HTTP/1.1" with Host, the given headers ("Name: value\r\n"…) and, unless it is empty, the body
// with its length.
std::string request_text(std::string_view method, std::string_view path, std::string_view headers = {},
                         std::string_view body = {});

}  // namespace remotist::test
