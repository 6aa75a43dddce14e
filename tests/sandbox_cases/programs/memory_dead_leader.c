// Fills memory in threads whose process's first thread is gone, so that the process looks like a dead one.
#include <pthread.h>
#include <sys/syscall.h>

#include "memory_shared.h"

static size_t wanted;

static void* fill(void* unused) {
  (void)unused;
  poll(NULL, 0, 50);  // until the first thread is gone
  tell_and_stay(filled_memory(wanted) == NULL ? -1 : 0);
  return NULL;
}

static int fill_in_thread(size_t bytes) {
  pthread_t thread;
  wanted = bytes;
  if (pthread_create(&thread, NULL, fill, NULL) != 0) return -1;
  return (int)syscall(SYS_exit, 0);
}

void misbehave(void) {
  fill_in_processes("in processes without their first thread", fill_in_thread);
}
