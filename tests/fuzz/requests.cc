// libFuzzer: paths, query parameters, headers and bodies of REST requests (script/test fuzz).
#include "tests/fuzz/requests.h"

#include "tests/fuzz/fuzzer.h"

REMOTIST_FUZZ(requests)
