// libFuzzer: the file that a hostile job writes as its checkpoint (script/test fuzz).
#include "tests/fuzz/checkpoints.h"

#include "tests/fuzz/fuzzer.h"

REMOTIST_FUZZ(checkpoints)
