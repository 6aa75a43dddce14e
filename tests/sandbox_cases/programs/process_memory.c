// Reads the memory of another process.
#include <sys/uio.h>

#include "hostile.h"

void misbehave(void) {
  char here[8] = "";
  char there[8] = "";
  const struct iovec local = {here, sizeof here};
  const struct iovec remote = {(void*)strtoull(target("canary_memory"), NULL, 10), sizeof there};
  trying("process_vm_readv of the host's process");
  judged("process_vm_readv", process_vm_readv((pid_t)target_number("canary"), &local, 1, &remote, 1, 0));
}
