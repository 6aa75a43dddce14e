// Asks to be told when somebody reads or runs a program of the host, or opens a file for writing.
#include <fcntl.h>
#include <signal.h>

#include "hostile.h"

void misbehave(void) {
  signal(SIGIO, SIG_IGN);
  trying("F_NOTIFY on /usr/bin, a write lease on a file");
  const int folder = open("/usr/bin", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) contained("/usr/bin: %s", strerror(errno));
  if (folder >= 0) judged("F_NOTIFY", fcntl(folder, F_NOTIFY, DN_ACCESS | DN_MULTISHOT));
  const int file = open("leased", O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
  if (file >= 0) judged("F_SETLEASE", fcntl(file, F_SETLEASE, F_WRLCK));
}
