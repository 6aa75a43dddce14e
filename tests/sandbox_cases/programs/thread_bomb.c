// Starts threads until it is refused, or until it has far more than it may have.
#include <pthread.h>

#include "hostile.h"

enum { kMost = 400 };
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void* wait_at_gate(void* nothing) {
  pthread_mutex_lock(&gate);
  pthread_mutex_unlock(&gate);
  return nothing;
}

void misbehave(void) {
  const long allowed = target_number("processes_max");
  pthread_t threads[kMost];
  pthread_attr_t small;
  int count = 0;
  int error = 0;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 65536);
  trying("%d threads, where %ld are allowed", kMost, allowed);
  pthread_mutex_lock(&gate);
  while (count < kMost && (error = pthread_create(&threads[count], &small, wait_at_gate, NULL)) == 0) ++count;
  if (count > allowed) {
    escaped("%d threads", count);
  } else {
    contained("after %d: %s", count, strerror(error));
  }
  pthread_mutex_unlock(&gate);
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
}
