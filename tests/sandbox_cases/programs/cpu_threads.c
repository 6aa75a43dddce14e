// Burns CPU time in four threads, in C, where no interrupt of R is looked at.
#include <pthread.h>
#include <sys/resource.h>

#include "hostile.h"

static void* burn(void* allowed_ms) {
  const long allowed = *(long*)allowed_ms;
  struct rusage used;
  do {
    for (volatile long i = 0; i < 1000000; ++i) continue;
    getrusage(RUSAGE_SELF, &used);
  } while (used.ru_utime.tv_sec * 1000 < 4 * allowed);
  return NULL;
}

void misbehave(void) {
  long allowed = target_number("cpu_ms_max");
  pthread_t threads[4];
  trying("%ld ms of CPU time, where %ld are allowed", 4 * allowed, allowed);
  for (int i = 0; i < 4; ++i)
    if (pthread_create(&threads[i], NULL, burn, &allowed) != 0) threads[i] = 0;
  for (int i = 0; i < 4; ++i)
    if (threads[i] != 0) pthread_join(threads[i], NULL);
  escaped("%ld ms of CPU time", 4 * allowed);
}
