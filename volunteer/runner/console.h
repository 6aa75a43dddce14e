// R's console: reads the script, writes to the descriptors 1 and 2, and is never interactive.
#pragma once

#include <string>

namespace remotist::volunteer {

// Sets R's hooks. Call once, after R has started.
void take_console();

// What the reader gives to R, line by line, until it is used up.
void set_script(std::string text);

}  // namespace remotist::volunteer
