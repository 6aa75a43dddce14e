// Asks how busy the host is, how long it has been up and how much memory and disc it has.
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/times.h>

#include "hostile.h"

void misbehave(void) {
  struct sysinfo host;
  struct statfs disc;
  struct tms own;
  trying("sysinfo, statfs and times");
  judged("sysinfo: load, memory, processes", sysinfo(&host));
  judged("statfs: the size of the host's disc", statfs("/usr/lib", &disc));
  // Counted from the start of the machine, in any namespace.
  judged("times: since when the host is up", syscall(SYS_times, &own));
}
