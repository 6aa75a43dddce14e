// Raises its own limits.
#include <sys/resource.h>

#include "hostile.h"

void misbehave(void) {
  struct rlimit limit;
  trying("one descriptor more than it may ever have");
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = ++limit.rlim_max;
  judged("setrlimit", setrlimit(RLIMIT_NOFILE, &limit));
}
