// libFuzzer: a stranger's text as a message from an agent and from a market (script/test fuzz).
#include "tests/fuzz/messages.h"

#include "tests/fuzz/fuzzer.h"

REMOTIST_FUZZ(messages)
