// Opens a performance counter.
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "hostile.h"

void misbehave(void) {
  struct perf_event_attr counter = {
      .type = PERF_TYPE_SOFTWARE, .size = sizeof counter, .config = PERF_COUNT_SW_TASK_CLOCK};
  counter.exclude_kernel = 1;
  trying("perf_event_open");
  judged("perf_event_open", syscall(SYS_perf_event_open, &counter, 0, -1, -1, 0));
}
