#include "market/api/server.h"

#include <algorithm>
#include <chrono>
#include <drogon/drogon.h>
#include <memory>

#include "core/digest.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/problem.h"
#include "core/process.h"
#include "core/token.h"
#include "market/api/on_pool.h"
#include "market/api/queue_in_loop.h"
#include "market/api/router.h"
#include "market/api/routes.h"
#include "market/api/volunteer_listener.h"
#include "market/service/request_fields.h"
#include "market/service/subscriber.h"
#include "market/store/health.h"

namespace remotist::market {
namespace {

using Clock = std::chrono::steady_clock;
using drogon::HttpRequestPtr;
using drogon::HttpResponse;
using drogon::HttpResponsePtr;
using Respond = std::function<void(const HttpResponsePtr&)>;

constexpr std::chrono::milliseconds kStopGrace{
    200};  // a load balancer may still send what it had decided to send
constexpr std::chrono::seconds kDrainTime{10};
constexpr std::chrono::seconds kStatementTime{2};  // what still runs then is cut off
constexpr double kProbeSeconds = 1.0;
constexpr double kLagSampleSeconds = 0.01;

HttpResponsePtr small_response_of(Reply& reply) {
  auto response = HttpResponse::newHttpResponse();
  response->setBody(std::move(reply.body));
  return response;
}

HttpResponsePtr with_head(HttpResponsePtr response, const Reply& reply, RequestId id) {
  response->setStatusCode(static_cast<drogon::HttpStatusCode>(reply.status));
  response->setContentTypeString(reply.media_type);
  response->addHeader("X-Request-Id", id.text());
  response->addHeader("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : reply.headers) response->addHeader(name, value);
  return response;
}

// A response that waits to be read, and its part of the budget. Destroyed when it was sent or its connection
// has ended.
struct Unread {
  std::string body;
  std::unique_ptr<AnswerBudget::Part> part;
  std::size_t sent = 0;

  std::size_t read(char* to, std::size_t room) {
    // Null when there will be no more calls.
    const std::size_t bytes = to == nullptr ? 0 : std::min(room, body.size() - sent);
    std::copy_n(body.data() + sent, bytes, to);
    sent += bytes;
    return bytes;
  }
};

// A large response is streamed as the client reads it: Drogon would copy it into a buffer as a whole, and not
// report when it was sent.
HttpResponsePtr large_response_of(Reply& reply, std::unique_ptr<AnswerBudget::Part> part) {
  const auto unread = std::make_shared<Unread>(std::move(reply.body), std::move(part));
  auto response = HttpResponse::newStreamResponse(
      [unread](char* to, std::size_t room) { return unread->read(to, room); });
  response->addHeader("Content-Length", std::to_string(unread->body.size()));
  return response;
}

Reply reply_of(const Refusal& refusal, RequestId id) {
  Reply reply = Reply::json(problem_document(refusal, id.text()), row_of(refusal.code).http_status)
                    .as(std::string{kProblemMediaType});
  if (row_of(refusal.code).retryable) reply.headers.emplace_back("Retry-After", "1");
  if (reply.status == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

std::string bearer_token_hash(const HttpRequestPtr& http) {
  const auto token = bearer_token_of(http->getHeader("authorization"));
  return token.empty() ? std::string{} : token_hash(token);
}

Request request_of(const Context& context, const HttpRequestPtr& http, std::vector<std::string> path_values) {
  const auto& peer = http->peerAddr();
  const std::string& forwarded = http->getHeader("x-forwarded-for");
  Request request{
      .http = http,
      .id = RequestId::make(),
      .path_values = std::move(path_values),
      .token_hash = bearer_token_hash(http),
      .client_address = plain_address(peer.toIp()),
      .from_this_machine = peer.isLoopbackIp() && forwarded.empty() && !context.config.behind_tls_proxy};
  if (!forwarded.empty() && std::ranges::contains(context.config.trusted_proxies, request.client_address)) {
    if (auto seen = forwarded_address(forwarded)) request.client_address = *std::move(seen);
  }
  return request;
}

// Writes Drogon's messages to our log.
void log_from_drogon(const char* text, const std::uint64_t bytes) {
  std::string_view line{text, bytes};
  while (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  // A peer that hung up first, as every health check of a proxy does: nothing is wrong.
  if (line.contains("sockets::shutdownWrite")) return;
  log::warn("drogon", {{"line", line}});
}

// Runs a handler; turns exceptions into refusals.
Answer handled(Context& context, const Route& route, Request request) {
  const std::string id = request.id.text();
  if (route.caller == Caller::with_token && request.token_hash.empty()) {
    co_return refuse(Code::unauthenticated, "send Authorization: Bearer <token>; POST /user/login gives one");
  }
  try {
    co_return co_await route.handler(context, std::move(request));
  } catch (const PoolFull&) {
    co_return refuse(Code::busy, "more requests are waiting than the market takes on: try again in a moment");
  } catch (const pg::CommitInDoubt& fault) {
    log::error("commit_in_doubt", {{"request", id}, {"route", route.path}, {"why", fault.what()}});
    co_return refuse(
        Code::commit_in_doubt,
        "the database went away in the middle of the commit: look whether it was done, or send the same "
        "request again with the same Idempotency-Key");
  } catch (const pg::Unavailable& fault) {
    log::warn("database_unavailable", {{"request", id}, {"route", route.path}, {"why", fault.what()}});
    co_return refuse(Code::database_unavailable, "nothing was changed: try again in a moment");
  } catch (const pg::Conflict& fault) {
    log::warn("database_conflict", {{"request", id}, {"route", route.path}, {"why", fault.what()}});
    co_return refuse(Code::busy,
                     "too many changes to the same thing at once; nothing was changed: try again");
  } catch (const std::exception& fault) {
    log::error("request_failed", {{"request", id}, {"route", route.path}, {"why", fault.what()}});
    co_return refuse(Code::internal, "the market failed and has written down why: quote the request_id");
  }
}

class Server {
 public:
  explicit Server(Context& context) : context_(context) {
    for (const Route& route : routes()) {
      router_.add(route.method, route.path, counted_.size());
      counted_.push_back(
          {route, context.metrics.add_route(std::string{route.method}, std::string{route.path})});
    }
  }

  void accept(const HttpRequestPtr& http, Respond respond) {
    const auto match = router_.find(http->methodString(), http->getOriginalPath());
    if (!match || !match->route) {
      const auto id = RequestId::make();
      Reply reply =
          match ? reply_of(refuse(Code::method_not_allowed, "this path takes " + match->allowed), id)
                : reply_of(refuse(Code::not_found, "there is no such path; /openapi.json lists all"), id);
      if (match) reply.headers.emplace_back("Allow", match->allowed);
      context_.metrics.request_lost(std::string{http->methodString()}, reply.status);
      return respond(with_head(small_response_of(reply), reply, id));
    }
    answer(counted_[*match->route], request_of(context_, http, match->values), std::move(respond));
  }

  void run();

 private:
  struct CountedRoute {
    const Route& route;
    RouteMetrics& metrics;
  };

  drogon::AsyncTask answer(CountedRoute counted, Request request, Respond respond) {
    const auto began = Clock::now();
    const Route& route = counted.route;
    const RequestId id = request.id;
    const std::string address = request.client_address;
    context_.metrics.requests_in_flight.Increment();
    in_flight_.fetch_add(1);
    Reply reply;
    if (context_.health.stopping && route.path != "/healthz") {
      reply = reply_of(refuse(Code::busy, "this market is stopping: try again in a moment"), id);
    } else {
      auto result = co_await handled(context_, route, std::move(request));
      reply = result ? std::move(*result) : reply_of(result.refusal(), id);
    }
    respond(response_of(reply, id, address));
    in_flight_.fetch_sub(1);
    context_.metrics.requests_in_flight.Decrement();
    const std::chrono::duration<double> took = Clock::now() - began;
    counted.metrics.request_done(reply.status, took.count());
    const auto level = reply.status >= 500 ? log::Level::warn : log::Level::debug;
    if (!log::writes(level)) co_return;
    log::write(level, "request",
               {{"request", id.text()},
                {"method", route.method},
                {"route", route.path},
                {"status", reply.status},
                {"ms", took.count() * 1e3}});
  }

  HttpResponsePtr response_of(Reply& reply, RequestId id, const std::string& address) {
    if (reply.body.size() > limits::kSmallAnswerBytesMax) {
      const auto bytes = static_cast<std::int64_t>(reply.body.size());
      if (auto part = context_.answer_budget.try_reserve(subscriber_of(address), bytes))
        return with_head(large_response_of(reply, std::move(part)), reply, id);
      reply = reply_of(refuse(Code::busy,
                              "too much of what was asked for before, from this address or by all, has not "
                              "been read yet: read it, and try again"),
                       id);
    }
    return with_head(small_response_of(reply), reply, id);
  }

  // At most one at a time: a database that hangs would otherwise fill the queue with probes.
  void probe_database() {
    if (probing_->exchange(true)) return;
    const bool queued =
        context_.database.try_run([&health = context_.health, probing = probing_](pg::Connection& db) {
          if (database_answers(db)) health.database_answered();
          *probing = false;
        });
    if (!queued) *probing_ = false;
  }

  void measure_lag(trantor::EventLoop* loop) {
    auto due = std::make_shared<Clock::time_point>(Clock::now());
    loop->runEvery(kLagSampleSeconds, [this, due] {
      const auto now = Clock::now();
      const std::chrono::duration<double> since = now - *due;
      *due = now;
      context_.metrics.loop_lag(std::max(0.0, since.count() - kLagSampleSeconds));
    });
  }

  // Runs on a thread of its own until a signal comes; nothing of this happens inside a signal handler.
  void stop_on_signal() {
    sigset_t wanted = stop_signals();
    int signal = 0;
    sigwait(&wanted, &signal);
    log::info("market_stopping", {{"signal", signal}, {"in_flight", in_flight_.load()}});
    context_.health.stopping = true;
    context_.long_poll.wake_all();
    context_.volunteers.stop();
    const auto began = Clock::now();
    while (Clock::now() - began < kStopGrace || (in_flight_ > 0 && Clock::now() - began < kDrainTime)) {
      std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    // The pools first: what they run comes back to the event loops, which must still be there.
    context_.database.stop_now(kStatementTime);
    context_.chunks.stop_now(kStatementTime);
    (void)context_.passwords.abandon(kStatementTime);
    context_.passwords.stop();
    queue_in_loop(drogon::app().getLoop(), [this] {
      volunteer_listener_->stop();
      drogon::app().quit();
    });
  }

  Context& context_;
  Router router_;
  std::vector<CountedRoute> counted_;  // as routes() has them
  std::atomic<std::int64_t> in_flight_ = 0;
  std::unique_ptr<VolunteerListener> volunteer_listener_;
  const std::shared_ptr<std::atomic<bool>> probing_ = std::make_shared<std::atomic<bool>>(false);
};

void Server::run() {
  auto& app = drogon::app();
  app.setLogLevel(trantor::Logger::kWarn)
      .addListener(context_.config.listen_address, static_cast<std::uint16_t>(context_.config.listen_port))
      .setThreadNum(static_cast<std::size_t>(context_.config.io_threads))
      .setClientMaxBodySize(limits::kBodyBytesMax)
      .setClientMaxMemoryBodySize(limits::kBodyBytesMax)
      .setMaxConnectionNum(static_cast<std::size_t>(context_.config.connections_max))
      // Drogon lets one more in than it is told, and pipelines one fewer.
      .setMaxConnectionNumPerIP(static_cast<std::size_t>(context_.config.connections_per_address_max - 1))
      .setPipeliningRequestsNumber(limits::kPipelinedRequestsMax + 1)
      .setIdleConnectionTimeout(static_cast<std::size_t>(context_.config.idle_connection_seconds_max))
      .enableServerHeader(false)
      .enableGzip(false)  // it would pack large answers on the event loop; a proxy can
      .setUploadPath(context_.config.blob_dir + "/spool")
      .disableSigtermHandling()
      .registerPreSendingAdvice([this](const HttpRequestPtr&, const HttpResponsePtr& response) {
        if (context_.health.stopping) response->setCloseConnection(true);
      })
      .registerPreRoutingAdvice([this](const HttpRequestPtr& http, drogon::AdviceCallback&& respond,
                                       drogon::AdviceChainCallback&&) { accept(http, std::move(respond)); })
      .registerBeginningAdvice([this] {
        std::vector<trantor::EventLoop*> loops;
        for (std::size_t i = 0; i < static_cast<std::size_t>(context_.config.io_threads); ++i) {
          auto* const loop = drogon::app().getIOLoop(i);
          loops.push_back(loop);
          queue_in_loop(loop, [this, loop] { measure_lag(loop); });
        }
        volunteer_listener_ = std::make_unique<VolunteerListener>(context_, drogon::app().getLoop(), loops);
        drogon::app().getLoop()->runEvery(kProbeSeconds, [this] { probe_database(); });
        probe_database();
        log::info("market_listening",
                  {{"address", context_.config.listen_address}, {"port", context_.config.listen_port}});
      });
  std::thread stopper{[this] { stop_on_signal(); }};
  app.run();
  stopper.join();
}

}  // namespace

void serve(Context& context) {
  trantor::Logger::setOutputFunction(log_from_drogon, [] {});
  Server server{context};
  server.run();
  log::info("market_stopped");
}

}  // namespace remotist::market
