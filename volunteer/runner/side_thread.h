// A thread beside R's: all signals blocked, because R's thread handles them, and a small stack, which counts
// as memory of the job. It must not call R.
#pragma once

#include <csignal>
#include <cstddef>
#include <pthread.h>

namespace remotist::volunteer {

// Starts it detached; false when that fails.
inline bool start_side_thread(std::size_t stack_bytes, void* (*run)(void*), void* what) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, stack_bytes);
  ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const int failed = ::pthread_create(&thread, &attributes, run, what);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  return failed == 0;
}

}  // namespace remotist::volunteer
