// libFuzzer: requests for a socket, settings and compressed chunks (script/test fuzz).
#include "tests/fuzz/heads.h"

#include "tests/fuzz/fuzzer.h"

REMOTIST_FUZZ(heads)
