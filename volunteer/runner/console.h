// R's console: reads the script, writes to the descriptors 1 and 2, and is never interactive. R's thread.
#pragma once

#include <string>

namespace remotist::volunteer {

// Sets R's hooks. Call once, after R has started.
void install_console_hooks();

// Sets the text that R's reader gets line by line.
void set_script(std::string text);

}  // namespace remotist::volunteer
