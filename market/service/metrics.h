// What /metrics shows, in Prometheus's words. Thread-safe.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <string>

namespace remotist::market {

class Metrics {
  prometheus::Registry registry_;  // first: the references below are into it

 public:
  Metrics();

  // `route` is the pattern ("/job/{id}"), never the path: paths are without number.
  void request_done(const std::string& method, const std::string& route, int status, double seconds);
  void loop_lag(double seconds) { loop_lag_.Observe(seconds); }

  prometheus::Gauge& requests_in_flight;
  prometheus::Gauge& database_queue;
  prometheus::Gauge& chunk_queue;
  prometheus::Gauge& requests_held;
  prometheus::Gauge& database_up;
  prometheus::Gauge& password_queue;
  prometheus::Gauge& broker_up;
  prometheus::Gauge& broker_blocked;
  prometheus::Gauge& outbox_waiting;
  prometheus::Gauge& outbox_oldest_seconds;
  prometheus::Counter& outbox_published;

  std::string text() const;

 private:
  prometheus::Gauge& gauge(const char* name, const char* help);
  prometheus::Counter& counter(const char* name, const char* help);

  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Histogram>& seconds_;
  prometheus::Histogram& loop_lag_;
};

}  // namespace remotist::market
