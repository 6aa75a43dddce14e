// Looks at the arguments and the environment that the process was started with, from which the guest was
// forked.
#include "hostile.h"

void misbehave(void) {
  // The strings lie one after the other: arguments, then environment.
  const char* const first = program_invocation_name;
  const char* last = first;
  size_t length = 0;
  trying("the command line of the zygote");
  for (char** each = environ; each != NULL && *each != NULL; ++each)
    if (*each > last && *each < first + (1 << 17)) last = *each;
  length = (size_t)(last - first);
  if (memmem(first, length, target("guests_folder"), strlen(target("guests_folder"))) != NULL) {
    escaped("it names the agent's folder: %s", target("guests_folder"));
  } else {
    contained("%zu bytes do not name the agent's folder", length);
  }
}
