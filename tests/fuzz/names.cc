// libFuzzer: names of watched variables, ids and other small formats (script/test fuzz).
#include "tests/fuzz/names.h"

#include "tests/fuzz/fuzzer.h"

REMOTIST_FUZZ(names)
