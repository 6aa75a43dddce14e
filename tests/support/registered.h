// New accounts of the stack's market, for tests over REST.
#pragma once

#include <string>

#include "tests/support/http.h"

namespace remotist::test {

std::string fresh_email();
// The login token of an account that has just been registered. Fails the test case when that is refused.
std::string registered_token(Http& http);

}  // namespace remotist::test
