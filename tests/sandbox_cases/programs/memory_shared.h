// Fills memory in many processes by one of several means, and tells whether all of them stay alive with it.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "hostile.h"

enum { kProcesses = 8 };

// In a child: takes so much memory, returns 0, and keeps it. Else why not, in errno, and -1.
typedef int (*Filler)(size_t bytes);

static int told[2];

static void tell_and_stay(int result) {
  const int problem = result == 0 ? 0 : errno != 0 ? errno : ENOMEM;
  if (write(told[1], &problem, sizeof problem) != sizeof problem) _exit(1);
  for (;;) pause();
}

// One after the other, so that there is never much of what is easily seen.
static void fill_in_processes(const char* what, Filler fill) {
  const long allowed = target_number("ram_mb");
  pid_t children[kProcesses] = {0};
  int full = 0;
  int alive = 0;
  int problem = 0;
  if (pipe(told) != 0) return;
  trying("%ld MB %s, where %ld are allowed", allowed * kProcesses / 2, what, allowed);
  for (int i = 0; i < kProcesses; ++i) {
    children[i] = fork();
    if (children[i] == 0) tell_and_stay(fill((size_t)allowed << 19));
    struct pollfd more = {.fd = told[0], .events = POLLIN};
    int said = 0;
    for (int round = 0; round < 200 && said == 0 && waitpid(children[i], NULL, WNOHANG) == 0; ++round)
      said = poll(&more, 1, 100);
    if (said == 1 && read(told[0], &problem, sizeof problem) == sizeof problem && problem == 0) ++full;
    if (problem != 0) break;
  }
  if (problem != 0) contained("%s: %s", what, strerror(problem));
  // Whoever looks at memory now and then has time to see it.
  if (full == kProcesses) poll(NULL, 0, 3000);
  for (int i = 0; i < full; ++i)
    if (waitpid(children[i], NULL, WNOHANG) == 0) ++alive;
  if (alive == kProcesses) {
    escaped("%ld MB %s", allowed * kProcesses / 2, what);
  } else {
    contained("%d of %d processes are alive and full", alive, kProcesses);
  }
  for (int i = 0; i < kProcesses; ++i)
    if (children[i] > 0) kill(children[i], SIGKILL);
}

// Written piece by piece and taken out of the page tables again: it stays where it is, and no process shows
// it.
__attribute__((unused)) static int fill_unseen(void* memory, size_t bytes) {
  const size_t piece = 4 << 20;
  if (memory == MAP_FAILED) return -1;
  for (size_t at = 0; at + piece <= bytes; at += piece) {
    memset((char*)memory + at, 1, piece);
    if (madvise((char*)memory + at, piece, MADV_DONTNEED) != 0) return -1;
  }
  return 0;
}
