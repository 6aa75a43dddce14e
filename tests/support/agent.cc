#include "tests/support/agent.h"

#include <curl/curl.h>
#include <doctest/doctest.h>
#include <poll.h>

namespace remotist::test {

// A WebSocket that is still to be opened.
struct Agent::Handle {
  CURL* curl = curl_easy_init();
  curl_slist* headers = nullptr;
  std::string partial;

  Handle(const std::string& url, const std::string& token) {
    headers = curl_slist_append(nullptr, ("Authorization: Bearer " + token).c_str());
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, 2L);
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, 20'000L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  }
  ~Handle() {
    curl_easy_cleanup(curl);
    curl_slist_free_all(headers);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  curl_socket_t socket() const {
    curl_socket_t descriptor = CURL_SOCKET_BAD;
    curl_easy_getinfo(curl, CURLINFO_ACTIVESOCKET, &descriptor);
    return descriptor;
  }
};

void Agent::require(bool condition, const char* why) {
  REQUIRE_MESSAGE(condition, std::string{why});
}

Agent::Agent(const std::string& socket_url, const std::string& token)
    : handle_(std::make_unique<Handle>(socket_url, token)) {
  const CURLcode code = curl_easy_perform(handle_->curl);
  REQUIRE_MESSAGE(code == CURLE_OK, curl_easy_strerror(code));
}

Agent::~Agent() = default;

int socket_status(const std::string& socket_url, const std::string& token) {
  // libcurl tells of a refused upgrade only as an error; the status is there all the same.
  const Agent::Handle handle{socket_url, token};
  curl_easy_perform(handle.curl);
  long status = 0;
  curl_easy_getinfo(handle.curl, CURLINFO_RESPONSE_CODE, &status);
  return static_cast<int>(status);
}

void Agent::say(protocol::FromAgent body) {
  const bool numbered = !std::holds_alternative<protocol::Ack>(body);
  say_raw(protocol::text_of(
      protocol::Frame<protocol::FromAgent>{numbered ? ++said_ : 0, heard_number_, std::move(body)}));
}

void Agent::say_raw(const std::string& text) {
  std::size_t sent = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{15};
  while (sent < text.size()) {
    require(std::chrono::steady_clock::now() < deadline, "the market does not read what it is told");
    std::size_t now = 0;
    const CURLcode code =
        curl_ws_send(handle_->curl, text.data() + sent, text.size() - sent, &now, 0, CURLWS_TEXT);
    sent += now;
    if (code == CURLE_AGAIN) {
      pollfd writable{handle_->socket(), POLLOUT, 0};
      poll(&writable, 1, 1000);
    } else if (code != CURLE_OK) {
      return;  // the market has closed it: close_code() says why
    }
  }
}

bool Agent::receive(std::chrono::steady_clock::time_point deadline) {
  while (!closed_) {
    char bytes[65536];
    std::size_t count = 0;
    const curl_ws_frame* frame = nullptr;
    const CURLcode code = curl_ws_recv(handle_->curl, bytes, sizeof bytes, &count, &frame);
    if (code == CURLE_AGAIN) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0) return false;
      pollfd readable{handle_->socket(), POLLIN, 0};
      // libcurl may hold a frame that the socket no longer has.
      poll(&readable, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 200)));
      continue;
    }
    if (code != CURLE_OK) {
      closed_ = 1006;  // without a word
      return false;
    }
    if ((frame->flags & CURLWS_CLOSE) != 0) {
      closed_ =
          count < 2 ? 1005 : static_cast<unsigned char>(bytes[0]) << 8 | static_cast<unsigned char>(bytes[1]);
      return false;
    }
    handle_->partial.append(bytes, count);
    if (frame->bytesleft > 0) continue;
    const auto message = protocol::read_from_market(std::exchange(handle_->partial, {}));
    REQUIRE_MESSAGE(message.ok(), (message.ok() ? "" : message.refusal().detail));
    acknowledged_ = std::max(acknowledged_, message->ack);
    if (message->number == 0) return true;
    CHECK(message->number == heard_number_ + 1);
    heard_number_ = message->number;
    heard_.push_back(message->body);
    return true;
  }
  return false;
}

protocol::Welcome Agent::send_hello(std::vector<protocol::AttemptKey> holds, bool taking_jobs) {
  say(protocol::Hello{{protocol::kVersion}, "test", taking_jobs, std::move(holds)});
  return hear<protocol::Welcome>();
}

void Agent::await_acknowledged() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{15};
  while (acknowledged_ < said_ && receive(deadline)) {
  }
  REQUIRE(acknowledged_ == said_);
}

protocol::Assignment Agent::hear_assignment() {
  auto assign = hear<protocol::Assign>();
  REQUIRE(!assign.jobs.empty());
  auto first = std::move(assign.jobs.front());
  assign.jobs.erase(assign.jobs.begin());
  if (!assign.jobs.empty()) heard_.push_front(std::move(assign));
  return first;
}

protocol::Assignment Agent::take_job() {
  auto assignment = hear_assignment();
  say(protocol::Accept{{assignment.attempt}});
  await_acknowledged();
  return assignment;
}

void Agent::beat(const std::vector<protocol::AttemptKey>& running, std::int64_t cpu_ms, bool taking_jobs) {
  protocol::Beat beat;
  beat.taking_jobs = taking_jobs;
  for (const auto& key : running) beat.attempts.push_back({key.name, cpu_ms});
  say(std::move(beat));
}

void Agent::complete(const protocol::AttemptKey& attempt, std::int64_t cpu_ms, const std::string& result) {
  protocol::Outcome outcome{.attempt = attempt, .kind = AttemptOutcome::completed, .cpu_ms = cpu_ms};
  if (!result.empty()) outcome.files.push_back({"output", "result.rds", result});
  say(std::move(outcome));
}

int Agent::close_code() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{15};
  while (!closed_ && receive(deadline)) {
  }
  REQUIRE(closed_.has_value());
  return *closed_;
}

}  // namespace remotist::test
