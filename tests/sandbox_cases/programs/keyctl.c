// Puts a key into the kernel's keyring.
#include <sys/syscall.h>

#include "hostile.h"

void misbehave(void) {
  trying("add_key and keyctl");
  judged("add_key", syscall(SYS_add_key, "user", "remotist-canary", "x", 1, -2 /* the process's keyring */));
  judged("keyctl", syscall(SYS_keyctl, 0 /* its id */, -3 /* of the session's keyring */, 0));
}
