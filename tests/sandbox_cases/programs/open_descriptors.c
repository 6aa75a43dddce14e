// Looks through the descriptors that it was born with for a way out.
#include <fcntl.h>
#include <sys/stat.h>

#include "hostile.h"

static void follow(int folder) {
  char path[2048] = "";
  for (int i = 0; i < 16; ++i) strcat(path, "../");
  strcat(path, target("secret") + 1);
  const int secret = openat(folder, path, O_RDONLY);
  if (secret >= 0) escaped("the secret by descriptor %d", folder);
  if (openat(folder, "1/status", O_RDONLY) >= 0) escaped("descriptor %d is a /proc", folder);
}

void misbehave(void) {
  trying("each descriptor up to 4095");
  int others = 0;
  for (int i = 3; i < 4096; ++i) {
    struct stat is;
    if (fstat(i, &is) != 0) continue;
    ++others;
    if (S_ISDIR(is.st_mode)) follow(i);
    if (S_ISREG(is.st_mode) && (fcntl(i, F_GETFL) & O_ACCMODE) != O_RDONLY)
      escaped("descriptor %d is a file that can be written", i);
    if (S_ISBLK(is.st_mode)) escaped("descriptor %d is a disc", i);
  }
  contained("%d descriptors besides the first three", others);
}
