// libFuzzer: bodies of REST (script/test fuzz).
#include "tests/fuzz/bodies.h"

#include "tests/fuzz/fuzzer.h"

REMOTIST_FUZZ(bodies)
