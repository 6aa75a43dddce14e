// Makes a ring through which system calls go by no filter.
#include <linux/io_uring.h>
#include <sys/syscall.h>

#include "hostile.h"

void misbehave(void) {
  struct io_uring_params parameters;
  memset(&parameters, 0, sizeof parameters);
  trying("io_uring_setup");
  judged("io_uring_setup", syscall(SYS_io_uring_setup, 2, &parameters));
}
