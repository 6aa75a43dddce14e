#include "volunteer/runner/watch/watch.h"

#include <malloc.h>
#include <pthread.h>
#include <utility>

#include "core/limits.h"
#include "volunteer/runner/engine.h"
#include "volunteer/runner/watch/gate.h"
#include "volunteer/runner/watch/interception.h"

namespace remotist::volunteer {

namespace {

SEXP compiler_part = nullptr;
Gate* the_gate = nullptr;  // never deleted: R and a thread refer to it until the process ends

void tell_all(const WatchOrder& order, const char* words) {
  for (std::size_t i = 0; i < order.names.size(); ++i) {
    say(order.frames, Changed{.variable = i, .number = 1, .kind = Changed::Kind::problem, .words = words});
  }
}

}  // namespace

void prepare_watch(SEXP arm_compiler) {
  R_PreserveObject(arm_compiler);
  compiler_part = arm_compiler;
}

void begin_watch(const WatchOrder& order) {
  if (order.names.empty()) return;
  if (!can_intercept()) return tell_all(order, "variables cannot be watched in this version of R");
  // A second arena would be 64 MB of the job's address space.
  ::mallopt(M_ARENA_MAX, 1);
  const auto heap_bytes = static_cast<std::size_t>(order.heap_mb) << 20;
  auto* const gate =
      new Gate(order.names, {order.frames, order.out, limits::kWatchedFileBytesMax, heap_bytes});
  if (!gate->start()) return tell_all(order, "variables cannot be watched: the job may have no more threads");
  if (!intercept(*gate, compiler_part)) {
    return tell_all(order, "variables cannot be watched: R's compiler is not the one that is known");
  }
  the_gate = gate;
  ::pthread_atfork(nullptr, nullptr, [] { the_gate->abandon(); });
}

void watch_between_expressions() {
  if (the_gate == nullptr) return;
  the_gate->leave_strips();
  the_gate->look_around(true);
}

void end_watch() {
  if (auto* const gate = std::exchange(the_gate, nullptr)) gate->finish();
}

}  // namespace remotist::volunteer
