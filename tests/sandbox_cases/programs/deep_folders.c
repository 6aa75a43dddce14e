// Makes folders in folders, deeper than any path can name.
#include <sys/stat.h>

#include "hostile.h"

void misbehave(void) {
  const char name[] = "a-folder-with-a-long-name-a-folder-with-a-long-name-a-folder-with-a-long-name";
  int depth = 0;
  trying("folders 800 deep");
  while (depth < 800 && mkdir(name, 0700) == 0 && chdir(name) == 0) ++depth;
  contained("it made %d", depth);
}
