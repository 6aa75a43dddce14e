// Runs a program that it brought along, which tries what it may not do itself.
#include <fcntl.h>
#include <sys/wait.h>

#include "hostile.h"

void misbehave(void) {
  trying("execve of its own program");
  char* const arguments[] = {(char*)"./brought", NULL};
  char* const environment[] = {NULL};
  const pid_t child = vfork();
  if (child == 0) {
    execve(arguments[0], arguments, environment);
    _exit(9);
  }
  int status = 0;
  if (child < 0) {
    contained("vfork: %s", strerror(errno));
  } else if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 42) {
    escaped("the program has put a key into the kernel's keyring");
  } else {
    contained("the program: status %d", status);
  }
}
