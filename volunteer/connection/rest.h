// Blocking REST calls to the market. Each object keeps one connection and is used by one thread at a time.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

namespace remotist::volunteer {

struct RestAnswer {
  int status = 0;    // 0: no answer
  std::string body;  // without an answer: why there is none
  bool good() const { return status / 100 == 2; }
  // The code of the problem document. Without one: "no_answer" for a status of 500 or more, such as that of a
  // proxy that cannot reach the market, else "no_code".
  std::string code() const;
  std::string message() const;  // what went wrong, for people
};

// A text as it is written in the query of a path.
std::string query_value(std::string_view text);

class Rest {
 public:
  // A call ends early, without an answer, once `stopping` is set; that must outlive this.
  Rest(std::string url, std::string ca_file, const std::atomic<bool>& stopping);
  ~Rest();
  Rest(const Rest&) = delete;
  Rest& operator=(const Rest&) = delete;

  // `headers` are whole lines.
  RestAnswer call(const char* method, const std::string& path, const std::vector<std::string>& headers,
                  std::string_view body = {});

 private:
  const std::string url_;
  const std::string ca_file_;
  const std::atomic<bool>& stopping_;
  void* curl_;
};

}  // namespace remotist::volunteer
