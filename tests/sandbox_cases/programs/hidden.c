// A program that the tests install so that guests may execute it and not read it, linked statically: fills so many bytes of
// memory, writes a byte to standard output, and keeps the memory.
#include <stdlib.h>
#include <unistd.h>

int main(int count, char** arguments) {
  const size_t bytes = count == 2 ? strtoul(arguments[1], NULL, 10) : 0;
  volatile char* const memory = malloc(bytes);
  if (memory == NULL) return 1;
  for (size_t at = 0; at < bytes; at += 1024) memory[at] = 1;
  if (write(STDOUT_FILENO, "x", 1) != 1) return 1;
  for (;;) pause();
}
