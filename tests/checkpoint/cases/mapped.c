// Writes to a file through a mapping, without a descriptor: first `open_mapping`, then `write_mapping` as often as wanted.
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char* mapping;
static size_t length;

void open_mapping(char** path, int* result) {
  struct stat state;
  const int file = open(*path, O_RDWR | O_CLOEXEC);
  *result = file >= 0 && fstat(file, &state) == 0;
  if (!*result) return;
  length = (size_t)state.st_size;
  mapping = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  *result = mapping != MAP_FAILED;
  close(file);
}

void write_mapping(int* value) { memset(mapping, *value, length); }

void close_mapping(void) { munmap(mapping, length); }
