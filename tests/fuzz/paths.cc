// libFuzzer: names of files (script/test fuzz).
#include "tests/fuzz/paths.h"

#include "tests/fuzz/fuzzer.h"

REMOTIST_FUZZ(paths)
