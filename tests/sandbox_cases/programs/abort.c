// Aborts.
#include "hostile.h"

void misbehave(void) {
  trying("abort");
  abort();
}
