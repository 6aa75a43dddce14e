#include "bench/agent_load/report.h"

#include <cmath>

#include "core/json.h"

namespace remotist::bench {
namespace {

using nlohmann::ordered_json;

double rounded(double value) {
  return std::round(value * 1000) / 1000;
}

ordered_json quantiles(const Durations& durations) {
  return {{"count", durations.count()},
          {"p50", rounded(durations.quantile_ms(0.5))},
          {"p90", rounded(durations.quantile_ms(0.9))},
          {"p99", rounded(durations.quantile_ms(0.99))}};
}

}  // namespace

void Report::count_assigned(Time now) {
  ++assigned;
  if (!first_assigned) first_assigned = now;
}

void Report::count_completed(Time now) {
  ++completed;
  last_completed = now;
}

double Report::completed_per_second() const {
  if (!first_assigned || !last_completed) return 0;
  const double busy_seconds = std::chrono::duration<double>(*last_completed - *first_assigned).count();
  return busy_seconds > 0 ? static_cast<double>(completed) / busy_seconds : 0;
}

std::string Report::text(std::uint64_t seed, std::chrono::duration<double> took,
                         std::chrono::duration<double> cpu) const {
  const double jobs = static_cast<double>(completed + failed + handed_back);
  const ordered_json document{
      {"assigned", assigned},
      {"accepted", accepted},
      {"completed_acknowledged", completed},
      {"failed_acknowledged", failed},
      {"handed_back_acknowledged", handed_back},
      {"refused", refused},
      {"stopped", stopped},
      {"welcomes", welcomes},
      {"reconnects", reconnects},
      {"not_connected", not_connected},
      {"machines_retired", retired},
      {"uploads", uploads},
      {"lost", lost},
      {"lies", lies},
      {"vanished", vanished},
      {"frozen", frozen},
      {"problems", ordered_json(problems)},
      {"closes", ordered_json(closes)},
      {"breaches", ordered_json(breaches)},
      {"seed", seed},
      {"seconds", rounded(took.count())},
      {"completed_per_second", rounded(completed_per_second())},
      {"accept_to_ack_ms", quantiles(accept_to_ack)},
      {"outcome_to_ack_ms", quantiles(outcome_to_ack)},
      {"cpu_seconds", rounded(cpu.count())},
      {"cpu_us_per_job", jobs > 0 ? rounded(cpu.count() * 1e6 / jobs) : 0.0},
  };
  return document.dump(2);
}

}  // namespace remotist::bench
