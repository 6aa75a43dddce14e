// Writes to an address where nothing is.
#include "hostile.h"

void misbehave(void) {
  trying("a segfault");
  *(volatile int*)8 = 1;
}
