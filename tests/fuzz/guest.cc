// libFuzzer: what a hostile job writes to its socket (script/test fuzz).
#include "tests/fuzz/guest.h"

#include "tests/fuzz/fuzzer.h"

REMOTIST_FUZZ(guest)
