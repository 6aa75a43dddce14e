#include "market/service/metrics.h"

#include <prometheus/text_serializer.h>
#include <utility>

namespace remotist::market {
namespace {

const prometheus::Histogram::BucketBoundaries kRequestSeconds{
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
// Fine around 5 ms, which the p99 should not exceed under load.
const prometheus::Histogram::BucketBoundaries kLagSeconds{0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006,
                                                          0.008,  0.01,  0.015, 0.02,  0.05,  0.1,   0.5};

}  // namespace

Metrics::Metrics()
    : requests_in_flight(gauge("remotist_requests_in_flight", "HTTP requests being handled")),
      database_queue(gauge("remotist_database_queue", "requests waiting for a database connection")),
      chunk_queue(gauge("remotist_chunk_queue", "uploads and downloads of chunks waiting for a thread")),
      requests_held(gauge("remotist_requests_held", "requests that wait for a job to change")),
      unread_bytes(gauge("remotist_unread_bytes", "of large answers that clients have not read yet")),
      database_up(gauge("remotist_database_up", "1 when the last probe of the database succeeded")),
      password_queue(gauge("remotist_password_queue", "requests waiting for a password to be hashed")),
      broker_up(gauge("remotist_broker_up", "1 while the publisher is connected to RabbitMQ")),
      broker_blocked(
          gauge("remotist_broker_blocked", "1 while RabbitMQ accepts no messages (memory or disc alarm)")),
      outbox_waiting(
          gauge("remotist_outbox_waiting", "messages committed and not yet confirmed by RabbitMQ")),
      outbox_oldest_seconds(gauge("remotist_outbox_oldest_seconds", "age of the oldest such message")),
      outbox_published(counter("remotist_outbox_published_total", "messages that RabbitMQ confirmed")),
      volunteers_connected(gauge("remotist_volunteers_connected", "machine sessions in this market")),
      attempts_assigned(counter("remotist_attempts_assigned_total", "assignments sent to machines")),
      reports_recorded(counter("remotist_reports_recorded_total", "what machines said of their attempts")),
      reports_stale(counter("remotist_reports_stale_total", "the same of attempts that were over")),
      watched_records_recorded(
          counter("remotist_watched_records_recorded_total", "records of watched variables")),
      requests_(prometheus::BuildCounter()
                    .Name("remotist_requests_total")
                    .Help("HTTP requests answered")
                    .Register(registry_)),
      seconds_(prometheus::BuildHistogram()
                   .Name("remotist_request_seconds")
                   .Help("time from the whole request to its answer")
                   .Register(registry_)),
      loop_lag_(prometheus::BuildHistogram()
                    .Name("remotist_event_loop_lag_seconds")
                    .Help("how late a timer of the event loops fires")
                    .Register(registry_)
                    .Add({}, kLagSeconds)) {}

prometheus::Gauge& Metrics::gauge(const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry_).Add({});
}

prometheus::Counter& Metrics::counter(const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry_).Add({});
}

RouteMetrics& Metrics::add_route(std::string method, std::string route) {
  return routes_.emplace_back(requests_, seconds_, std::move(method), std::move(route));
}

void Metrics::request_lost(const std::string& method, int status) {
  requests_.Add({{"method", method}, {"route", "none"}, {"status", std::to_string(status)}}).Increment();
}

std::string Metrics::text() const {
  return prometheus::TextSerializer{}.Serialize(registry_.Collect());
}

RouteMetrics::RouteMetrics(prometheus::Family<prometheus::Counter>& requests,
                           prometheus::Family<prometheus::Histogram>& seconds, std::string method,
                           std::string route)
    : requests_(requests),
      method_(std::move(method)),
      route_(std::move(route)),
      seconds_(seconds.Add({{"method", method_}, {"route", route_}}, kRequestSeconds)) {}

void RouteMetrics::request_done(int status, double seconds) {
  auto& kept = by_status_.at(static_cast<std::size_t>(status));
  auto* counter = kept.load(std::memory_order_acquire);
  if (counter == nullptr) {
    // Two threads at once get the same one.
    counter = &requests_.Add({{"method", method_}, {"route", route_}, {"status", std::to_string(status)}});
    kept.store(counter, std::memory_order_release);
  }
  counter->Increment();
  seconds_.Observe(seconds);
}

}  // namespace remotist::market
