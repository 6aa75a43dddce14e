// The Prometheus metrics that /metrics shows. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <string>

namespace remotist::market {

// The metrics of one route. Its counters are looked up once and cached: a look-up by labels costs more than
// some requests do.
class RouteMetrics {
 public:
  RouteMetrics(prometheus::Family<prometheus::Counter>& requests,
               prometheus::Family<prometheus::Histogram>& seconds, std::string method, std::string route);

  void request_done(int status, double seconds);

 private:
  prometheus::Family<prometheus::Counter>& requests_;
  const std::string method_;
  const std::string route_;
  prometheus::Histogram& seconds_;
  std::array<std::atomic<prometheus::Counter*>, 600> by_status_{};  // made when a status first occurs
};

class Metrics {
  prometheus::Registry registry_;  // first: the references below are into it

 public:
  Metrics();

  // Call from one thread, before the market listens. `route` is the pattern ("/job/{id}"), never the path, of
  // which there are too many.
  RouteMetrics& add_route(std::string method, std::string route);
  // A request that matches no route.
  void request_lost(const std::string& method, int status);
  void loop_lag(double seconds) { loop_lag_.Observe(seconds); }

  prometheus::Gauge& requests_in_flight;
  prometheus::Gauge& database_queue;
  prometheus::Gauge& chunk_queue;
  prometheus::Gauge& requests_held;
  prometheus::Gauge& unread_bytes;
  prometheus::Gauge& database_up;
  prometheus::Gauge& password_queue;
  prometheus::Gauge& broker_up;
  prometheus::Gauge& broker_blocked;
  prometheus::Gauge& outbox_waiting;
  prometheus::Gauge& outbox_oldest_seconds;
  prometheus::Counter& outbox_published;
  prometheus::Gauge& volunteers_connected;
  prometheus::Counter& attempts_assigned;
  prometheus::Counter& reports_recorded;
  prometheus::Counter& reports_stale;
  prometheus::Counter& watched_records_recorded;

  std::string text() const;

 private:
  prometheus::Gauge& gauge(const char* name, const char* help);
  prometheus::Counter& counter(const char* name, const char* help);

  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Histogram>& seconds_;
  prometheus::Histogram& loop_lag_;
  std::deque<RouteMetrics> routes_;
};

}  // namespace remotist::market
