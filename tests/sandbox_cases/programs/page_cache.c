// Asks which files of the host are in its page cache, and throws one out of it.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "hostile.h"

static const char kFile[] = "/usr/lib/os-release";

void misbehave(void) {
  char byte = 0;
  unsigned char pages = 0;
  struct iovec one = {.iov_base = &byte, .iov_len = 1};
  trying("what the host has read of %s", kFile);
  const int fd = open(kFile, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    contained("open: %s", strerror(errno));
    return;
  }
  // EAGAIN is an answer too: the page is not there.
  if (preadv2(fd, &one, 1, 0, RWF_NOWAIT) >= 0 || errno == EAGAIN) {
    escaped("preadv2 with RWF_NOWAIT tells");
  } else {
    contained("preadv2: %s", strerror(errno));
  }
  void* const page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  judged("mincore", page == MAP_FAILED ? -1 : mincore(page, 4096, &pages));
  judged("cachestat", syscall(451, fd, NULL, NULL, 0) < 0 && errno != EFAULT ? -1 : 0);
  close(fd);
}
