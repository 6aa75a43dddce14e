// A program that a guest brings along, linked statically. Its exit status says what it achieved.
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
  return syscall(SYS_add_key, "user", "remotist-canary", "x", 1, -2) >= 0 ? 42 : 1;
}
